/** What is no answer to the steps that were asked is an error of that call, before anything is made of it. */

import { SpillwayError, show } from '../base/errors.js';
import type { Answer, ClaimsAnswer } from '../contract/ask.js';
import type { Step } from '../contract/store.js';

/** The numbers in the answer of each machine. */
const NUMBERS = {
  bucket: ['nowUs', 'tatUs', 'tatNum'],
  queue: ['nowUs', 'tatUs', 'tatNum', 'pausedUntilUs'],
  window: ['nowUs', 'startUs', 'current', 'previous'],
  log: ['nowUs', 'used', 'freesUs', 'lastUs'],
  leases: ['nowUs', 'used', 'critical'],
  claims: ['nowUs', 'endsUs'],
} as const;

const STATES: readonly unknown[] = ['free', 'running', 'done'] satisfies ClaimsAnswer['state'][];

/** @throws SpillwayError `SPW_STORE_ERROR` of kind `reply` */
export function checkAnswers(steps: readonly Step[], answers: unknown): void {
  if (!Array.isArray(answers) || answers.length !== steps.length) {
    throw noAnswer(`${steps.length} answers`, answers);
  }
  for (let i = 0; i < steps.length; i += 1) checkAnswer(steps[i] as Step, answers[i]);
}

function checkAnswer({ rule }: Step, answer: unknown): void {
  const { machine } = rule;
  if (typeof answer !== 'object' || answer === null) throw noAnswer('an object', answer);
  const { allowed, failure } = answer as Answer;
  if (failure) return; // a part of the store failed, and says so
  if (typeof allowed !== 'boolean') throw noAnswer(`allowed of ${machine}`, allowed);
  for (const name of NUMBERS[machine]) {
    const value = (answer as Readonly<Record<string, unknown>>)[name];
    if (!Number.isSafeInteger(value)) throw noAnswer(`${name} of ${machine}`, value);
  }
  if (machine === 'claims') checkTexts(answer as Readonly<Record<string, unknown>>);
}

function checkTexts({ state, owner, note }: Readonly<Record<string, unknown>>): void {
  if (!STATES.includes(state)) throw noAnswer(`one of ${STATES.join(', ')}`, state);
  if (typeof owner !== 'string') throw noAnswer('owner of claims', owner);
  if (typeof note !== 'string') throw noAnswer('note of claims', note);
}

function noAnswer(wanted: string, got: unknown): SpillwayError {
  const message = `the store gave no answer: ${wanted} wanted, got ${show(got)}`;
  return new SpillwayError('SPW_STORE_ERROR', message, { kind: 'reply' });
}
