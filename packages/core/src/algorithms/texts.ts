/** The state of a count as a text, for stores that keep texts: docs/writing-a-store.md has their formats. */

import type { Answer } from '../contract/ask.js';
import type { Rule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import { readBucket } from './bucket/bucket-text.js';
import { readClaim } from './claims/claim-text.js';
import { readLeases } from './leases/lease-text.js';
import { readLog } from './log/log-text.js';
import { readQueue } from './queue/queue-text.js';
import type { StoredCount } from './stored-count.js';
import { readWindow } from './window/window-text.js';

type Read = (text: string | undefined, rule: Rule) => StoredCount;

const READERS: Readonly<Record<Rule['machine'], Read>> = {
  bucket: readBucket,
  queue: readQueue,
  window: readWindow,
  log: readLog,
  leases: readLeases,
  claims: readClaim,
};

/** What is stored of a count. */
export interface StateText {
  readonly text: string;
  /**
   * When the text is the same as none, in microseconds since the epoch, a whole number. From then on it may be deleted.
   */
  readonly expiresUs: number;
}

/**
 * Reads a count under the algorithm of `rule`. A count that is to be reset is not read: its text may be anything.
 *
 * @throws SpillwayError `SPW_STORE_ERROR` if the text is not one of ours
 */
export function readCount({ rule, op }: Step, text: string | undefined): StoredCount {
  return READERS[rule.machine](op === 'reset' ? undefined : text, rule);
}

/** What to store of a count at `nowUs`; undefined if it is the same as that of a key that was never used. */
export function stateOf(count: StoredCount, nowUs: number): StateText | undefined {
  const { expiresUs } = count;
  return expiresUs > nowUs ? { text: count.text(), expiresUs } : undefined;
}

/** What {@link stepText} returns. */
export interface SteppedText {
  readonly answer: Answer;
  /** The text after the step: the same text if nothing is to be written, undefined if nothing is left to be stored. */
  readonly text: string | undefined;
  /** Of a text that has changed: when it is the same as none, in microseconds since the epoch. Else 0. */
  readonly expiresUs: number;
}

/**
 * Applies a step to the text of its count. For stores that do not go through `stateStore`.
 *
 * A log keeps at most 10,000 entries in its text. Beyond that, new units join the newest entry, and all of that entry
 * expires with the newest unit: later than it should, never earlier.
 *
 * @param text what is stored under the name of the count; undefined if nothing is
 * @param nowUs the store's clock, in whole microseconds since the epoch
 * @param charge whether a take may charge; false if another step of its group was refused. See `chargedBranch`.
 * @throws SpillwayError `SPW_STORE_ERROR` if the text is not one of ours; then nothing may be written
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
