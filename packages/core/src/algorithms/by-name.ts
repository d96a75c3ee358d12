/**
 * The algorithms by name, for stores, and for code that reads names from a file or the network. A bundle contains only
 * the tables that it uses. The formats of the texts are in docs/stored-format.md.
 */

import { oneOf } from '../base/checks.js';
import type {
  Algorithm,
  Anchor,
  Answer,
  Machine,
  RateAlgorithm,
  RateRule,
  Rule,
} from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import { bucketForm, bucketMachine } from './bucket.js';
import { calendarForm, calendarMachine } from './calendar.js';
import { claimsForm, claimsMachine } from './claims.js';
import { distinctForm, distinctMachine } from './distinct.js';
import { leasesForm, leasesMachine } from './leases.js';
import { lockForm, lockMachine } from './lock.js';
import { logForm, logMachine } from './log/log.js';
import { queueForm, queueMachine } from './queue.js';
import { StoredCount, type TextForm } from './stored-count.js';
import { fixedWindow, slidingLog, slidingWindow, tokenBucket } from './values.js';
import { windowForm, windowMachine } from './window.js';

type ByName<Value> = Readonly<Record<Rule['machine'], Value>>;

/** The properties of an answer that must be safe integers. */
export const NUMBERS: ByName<readonly string[]> = {
  bucket: ['nowUs', 'tatUs', 'tatNum'],
  queue: ['nowUs', 'tatUs', 'tatNum', 'pausedUntilUs'],
  window: ['nowUs', 'startUs', 'current', 'previous'],
  calendar: ['nowUs', 'startUs', 'endUs', 'current'],
  log: ['nowUs', 'used', 'freesUs', 'lastUs'],
  distinct: ['nowUs', 'used', 'freesUs', 'lastUs'],
  leases: ['nowUs', 'used', 'critical'],
  claims: ['nowUs', 'endsUs'],
  lock: ['nowUs', 'endUs', 'current', 'untilUs'],
};

const MACHINES: ByName<Machine> = {
  bucket: bucketMachine,
  queue: queueMachine,
  window: windowMachine,
  calendar: calendarMachine,
  log: logMachine,
  distinct: distinctMachine,
  leases: leasesMachine,
  claims: claimsMachine,
  lock: lockMachine,
};

const FORMS: ByName<TextForm<{ dirty: boolean }>> = {
  bucket: bucketForm,
  queue: queueForm,
  window: windowForm,
  calendar: calendarForm,
  log: logForm,
  distinct: distinctForm,
  leases: leasesForm,
  claims: claimsForm,
  lock: lockForm,
};

const RATES: Readonly<Record<Algorithm, RateAlgorithm>> = {
  'token-bucket': tokenBucket,
  'fixed-window': fixedWindow,
  'sliding-window-log': slidingLog,
  'sliding-window-counter': slidingWindow,
};

/** Without the PURE mark, a bundle that uses only a store would include all algorithms. */
const NAMES: readonly Algorithm[] = /* @__PURE__ */ Object.keys(RATES) as Algorithm[];

/**
 * The algorithm with this name, as in metrics and the command line.
 *
 * @throws SpillwayError `SPW_ALGORITHM_INVALID`
 * @example
 * ```ts
 * import { rateLimit } from '@spillway/core';
 * import { algorithmByName } from '@spillway/core/algorithms';
 *
 * const { algorithm } = JSON.parse('{ "algorithm": "fixed-window" }');
 * rateLimit({ limit: 100, window: '1m', algorithm: algorithmByName(algorithm) });
 * ```
 */
export function algorithmByName(name: Algorithm): RateAlgorithm {
  oneOf('algorithm', name, NAMES, 'SPW_ALGORITHM_INVALID');
  return RATES[name];
}

/**
 * Makes the rule of an algorithm. The numbers must have been checked: integers, `limit` and `burst` from 1 to 10^9,
 * `windowUs` from 1 ms to 400 days in microseconds. Only `token-bucket` uses `burst`, and only `fixed-window` uses
 * `anchor`.
 */
export function makeRule(
  algorithm: Algorithm,
  limit: number,
  windowUs: number,
  burst: number = limit,
  anchor: Anchor = 'epoch',
): RateRule {
  return RATES[algorithm].makeRule(limit, windowUs, burst, anchor);
}

/** The `logic` of rules with this `machine`, for stores that receive rules as data; undefined if it is unknown. */
export function machineNamed(name: string): Machine | undefined {
  return Object.hasOwn(MACHINES, name) ? MACHINES[name as Rule['machine']] : undefined;
}

/** The stored form of a count. */
export interface StateText {
  readonly text: string;
  /** When the text expires and may be deleted, in whole microseconds since the epoch. */
  readonly expiresUs: number;
}

/** Reads a count with the algorithm of `rule`. For a `reset` the text is ignored, because it may be invalid. */
export function readCount({ rule, op }: Step, text: string | undefined): StoredCount {
  return new StoredCount(FORMS[rule.machine], op === 'reset' ? undefined : text, rule);
}

export function stateOf(count: StoredCount, nowUs: number): StateText | undefined {
  const { expiresUs } = count;
  return expiresUs > nowUs ? { text: count.text(), expiresUs } : undefined;
}

/** What {@link stepText} returns. */
export interface SteppedText {
  readonly answer: Answer;
  /** The text after the step: the same text if nothing must be written, undefined if it must be deleted. */
  readonly text: string | undefined;
  /** When a changed text expires, in microseconds since the epoch. 0 if no text must be written. */
  readonly expiresUs: number;
}

/**
 * Applies a step to the text of its count, for stores that don't use `stateStore`.
 *
 * @param text the stored text of the count; undefined if there is none
 * @param nowUs the store's clock, in whole microseconds since the epoch
 * @param charge whether a take may charge; false if another step of its group was rejected
 * @throws SpillwayError `SPW_STORE_ERROR` if the text is not in our format; then nothing may be written
 * @example
 * ```ts run
 * import { makeRule, type Step, stepText } from '@spillway/core/store';
 *
 * const rule = makeRule('token-bucket', 2, 60_000_000);
 * const take: Step = { op: 'take', limiter: 'api', key: 'ada', rule, cost: 1, binding: true };
 * stepText(undefined, take, 1_767_225_600_000_000, true).text; // '1767225630000000'
 * ```
 */
export function stepText(
  text: string | undefined,
  step: Step,
  nowUs: number,
  charge: boolean,
): SteppedText {
  const count = readCount(step, text);
  const answer = count.step(step, nowUs, charge);
  if (!count.changed) return { answer, text, expiresUs: 0 };
  const state = stateOf(count, nowUs);
  return { answer, text: state?.text, expiresUs: state?.expiresUs ?? 0 };
}
