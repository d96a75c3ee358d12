/**
 * Calls a store, checks each answer, and reports each call to the breaker and to observers. All of this runs in one
 * continuation of the store's promise, because each additional promise takes as long as a decision of the memory store.
 */

import { systemClock } from '../base/clock.js';
import { isSpillwayError, SpillwayError, show } from '../base/errors.js';
import { type Eventually, isLater } from '../base/host.js';
import type { Answer, ClaimsAnswer } from '../contract/ask.js';
import type { ApplyOptions, Step, Store } from '../contract/store.js';
import type { AskOptions } from '../contract/store-link.js';
import type { Observers } from '../observe/observers.js';
import type { CircuitBreaker } from './circuit-breaker.js';
import type { ProbeSender } from './probe.js';

type CallObserver = Pick<Observers, 'storeCall'>;

type Answers = readonly Answer[];

export class Calls implements ProbeSender {
  readonly sync: boolean;
  readonly timeoutUs: number;
  private readonly store: Store;
  private readonly breaker: CircuitBreaker | undefined;
  private readonly observer: CallObserver | undefined;

  /** @param store must reject calls that time out, see `withDeadline` */
  constructor(store: Store, timeoutUs: number, breaker?: CircuitBreaker, observer?: CallObserver) {
    this.store = store;
    this.sync = store.sync;
    this.timeoutUs = timeoutUs;
    this.breaker = breaker;
    this.observer = observer;
  }

  /**
   * Returns the result of `then(answers)`, or of `failed(error)` if the call fails. All steps of a call must depend on
   * the same part of the store. The breaker doesn't count background calls, because their failures must not keep
   * requests from the store.
   */
  callStore<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
    options?: AskOptions,
    failed: (error: unknown) => Eventually<Value> = rethrow,
  ): Eventually<Value> {
    const counts = !options?.background && steps.length > 0;
    return this.call(steps, then, options, failed, counts ? this.breaker : undefined);
  }

  sendProbe(step: Step): Eventually<Answers> {
    return this.call([step], (answers) => answers, undefined, rethrow, undefined);
  }

  private call<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
    options: ApplyOptions | undefined,
    failed: (error: unknown) => Eventually<Value>,
    breaker: CircuitBreaker | undefined,
  ): Eventually<Value> {
    const askedUs = breaker ? breaker.clock.nowUs() : 0;
    const turn = breaker ? breaker.turns.now : 0;
    const startUs = this.observer ? systemClock.nowUs() : 0;
    const failCall = (error: unknown): Eventually<Value> => {
      this.observeCall(startUs, kindOf(error));
      breaker?.failed(steps, error, askedUs, this);
      return failed(error);
    };
    const takeAnswers = (answers: Answers): Eventually<Value> => {
      try {
        checkAnswers(steps, answers);
      } catch (error) {
        return failCall(error);
      }
      this.observeCall(startUs, 'ok');
      breaker?.succeeded(steps, askedUs, turn, this);
      return then(answers);
    };
    let answers: Eventually<Answers>;
    try {
      answers = this.store.apply(steps, options);
    } catch (error) {
      return failCall(error);
    }
    // The store may return any thenable.
    return isLater(answers)
      ? Promise.resolve(answers).then(takeAnswers, failCall)
      : takeAnswers(answers);
  }

  private observeCall(startUs: number, outcome: string): void {
    this.observer?.storeCall({ durationMs: (systemClock.nowUs() - startUs) / 1000, outcome });
  }
}

function rethrow(error: unknown): never {
  throw error;
}

function kindOf(error: unknown): string {
  if (!isSpillwayError(error)) return 'other';
  return error.kind ?? WORDS[error.code] ?? 'other';
}

const WORDS: Readonly<Record<string, string>> = {
  SPW_STORE_TIMEOUT: 'timeout',
  SPW_STORE_UNAVAILABLE: 'unavailable',
};

const NUMBERS = {
  bucket: ['nowUs', 'tatUs', 'tatNum'],
  queue: ['nowUs', 'tatUs', 'tatNum', 'pausedUntilUs'],
  window: ['nowUs', 'startUs', 'current', 'previous'],
  calendar: ['nowUs', 'startUs', 'endUs', 'current'],
  log: ['nowUs', 'used', 'freesUs', 'lastUs'],
  distinct: ['nowUs', 'used', 'freesUs', 'lastUs'],
  leases: ['nowUs', 'used', 'critical'],
  claims: ['nowUs', 'endsUs'],
  lock: ['nowUs', 'endUs', 'current', 'untilUs'],
} as const;

const STATES: readonly unknown[] = ['free', 'running', 'done'] satisfies ClaimsAnswer['state'][];

function checkAnswers(steps: readonly Step[], answers: unknown): void {
  if (!Array.isArray(answers) || answers.length !== steps.length) {
    throw noAnswer(`${steps.length} answers`, answers);
  }
  for (let i = 0; i < steps.length; i += 1) checkAnswer(steps[i] as Step, answers[i]);
}

function checkAnswer({ rule }: Step, answer: unknown): void {
  const { machine } = rule;
  if (typeof answer !== 'object' || answer === null) throw noAnswer('an object', answer);
  const { allowed, failure } = answer as Answer;
  if (failure) return; // a part of the store failed, so the other properties mean nothing
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
  const message = `invalid answer: expected ${wanted}, got ${show(got)}`;
  return new SpillwayError('SPW_STORE_ERROR', message, { kind: 'reply' });
}
