/** The state of a count as a text, for stores that store texts. The formats are in docs/stored-format.md. */

import type { Answer } from '../contract/ask.js';
import type { Rule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import { readBucket } from './bucket.js';
import { readCalendar } from './calendar.js';
import { readClaim } from './claims.js';
import { readDistinct } from './distinct.js';
import { readLeases } from './leases.js';
import { readLock } from './lock.js';
import { readLog } from './log/log.js';
import { readQueue } from './queue.js';
import type { StoredCount } from './stored-count.js';
import { readWindow } from './window.js';

type Read = (text: string | undefined, rule: Rule) => StoredCount;

const READERS: Readonly<Record<Rule['machine'], Read>> = {
  bucket: readBucket,
  queue: readQueue,
  window: readWindow,
  calendar: readCalendar,
  log: readLog,
  leases: readLeases,
  claims: readClaim,
  lock: readLock,
  distinct: readDistinct,
};

/** The stored form of a count. */
export interface StateText {
  readonly text: string;
  /** When the text expires and may be deleted, in whole microseconds since the epoch. */
  readonly expiresUs: number;
}

/** Reads a count with the algorithm of `rule`. For a `reset` the text is ignored, because it may be invalid. */
export function readCount({ rule, op }: Step, text: string | undefined): StoredCount {
  return READERS[rule.machine](op === 'reset' ? undefined : text, rule);
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
