/** Checks of what users write. One that fails throws a SpillwayError that names the option and shows the value. */

import type { Clock } from './clock.js';
import { type Duration, parseDuration } from './duration.js';
import { mustBe, SpillwayError, type SpillwayErrorCode, show } from './errors.js';

/** The largest limit and burst. */
export const MAX_LIMIT = 1_000_000_000;

/** The longest key in UTF-16 units. To name one costs a tenth of a millisecond; a megabyte would cost twenty. */
const MAX_KEY = 8_192;

/** Whether `limit` is one that a rule can have. */
function isLimit(limit: unknown): limit is number {
  return isIntegerBetween(limit, 1, MAX_LIMIT);
}

/** Whether `key` can name a count. */
export function isKey(key: unknown): key is string {
  return typeof key === 'string' && key !== '' && key.length <= MAX_KEY;
}

/** Whether `cost` is a number of units: an integer from 0 to 2^53 - 1. */
export function isCost(cost: unknown): cost is number {
  return isIntegerBetween(cost, 0);
}

/**
 * A key that was given directly; `alternative` is what the option takes beside one.
 *
 * @throws SpillwayError `SPW_KEY_INVALID`
 */
export function checkKey(key: unknown, alternative = ''): asserts key is string {
  if (isKey(key)) return;
  if (typeof key !== 'string' || key === '') {
    throw mustBe('key', `a string that is not empty${alternative}`, key, 'SPW_KEY_INVALID');
  }
  throw new SpillwayError(
    'SPW_KEY_INVALID',
    `key must have at most 8,192 UTF-16 units, got ${key.length}: hash what is longer`,
  );
}

/**
 * A limit; `addition` is what the option takes beside one, or when it is needed. Who writes 0 is told what there is for
 * it.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`
 */
export function checkLimit(option: string, limit: unknown, addition = ''): number {
  if (isLimit(limit)) return limit;
  let hint = limit === 0 ? ": to refuse a key use block, to switch a limit off mode: 'off'" : '';
  if (typeof limit === 'function') hint = ': what differs between callers goes into plan';
  throw new SpillwayError(
    'SPW_LIMIT_INVALID',
    `${option} must be ${integers(1, MAX_LIMIT)}${addition}, got ${show(limit)}${hint}`,
  );
}

/** @throws SpillwayError `SPW_BURST_INVALID` */
export function checkBurst(burst: unknown): number {
  return integerBetween('burst', burst, 1, MAX_LIMIT, 'SPW_BURST_INVALID');
}

/** @throws SpillwayError `SPW_COST_INVALID` */
export function checkCost(cost: unknown): number {
  if (isCost(cost)) return cost;
  throw mustBe('cost', 'an integer from 0', cost, 'SPW_COST_INVALID');
}

/**
 * A limiter's name: 1 to 64 printable ASCII characters, because it stands in headers.
 *
 * @throws SpillwayError `SPW_NAME_INVALID`
 */
export function checkName(name: unknown): string {
  if (typeof name === 'string' && /^[\x20-\x7e]{1,64}$/.test(name)) return name;
  throw mustBe('name', '1 to 64 printable ASCII characters', name, 'SPW_NAME_INVALID');
}

/**
 * One of a list of words, or undefined.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, or `code`
 */
export function oneOf<Word extends string>(
  option: string,
  value: Word | undefined,
  words: readonly Word[],
  code?: SpillwayErrorCode,
): Word | undefined {
  if (value === undefined || words.includes(value)) return value;
  throw mustBe(option, `one of ${words.join(', ')}`, value, code);
}

/**
 * An integer from `least` to `most`.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, or `code`
 */
export function integerBetween(
  option: string,
  value: unknown,
  least: number,
  most: number,
  code?: SpillwayErrorCode,
): number {
  if (isIntegerBetween(value, least, most)) return value;
  throw mustBe(option, integers(least, most), value, code);
}

/**
 * An integer from 1 to 2^53 - 1, for the options of a store.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 * @example
 * ```ts run
 * import { positiveInteger } from '@spillway/core/store';
 *
 * positiveInteger('maxSteps', 128); // 128
 * ```
 */
export function positiveInteger(option: string, value: unknown): number {
  if (isIntegerBetween(value, 1)) return value;
  throw mustBe(option, 'a positive integer', value);
}

/**
 * A share of something, 0 to 1.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function shareFromZero(option: string, share: unknown): number {
  if (isShare(share)) return share;
  throw mustBe(option, 'from 0 to 1', share);
}

/**
 * A share of something, above 0 and at most 1.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function shareAboveZero(option: string, share: unknown): number {
  if (isShare(share) && share > 0) return share;
  throw mustBe(option, 'above 0 and at most 1', share);
}

/**
 * A duration from `least` to `most`, in whole microseconds.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 * @example
 * ```ts run
 * import { durationBetween } from '@spillway/core/store';
 *
 * durationBetween('every', '2s', '50ms', '1m'); // 2_000_000
 * ```
 */
export function durationBetween(
  option: string,
  value: unknown,
  least: Duration,
  most: Duration,
): number {
  const us = parseDuration(value);
  if (us >= parseDuration(least) && us <= parseDuration(most)) return us;
  throw mustBe(option, `from ${least} to ${most}`, value);
}

/**
 * A function, or undefined.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function checkCallback(option: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw mustBe(option, 'a function', value);
}

/**
 * A clock, or undefined.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function checkClock(clock: Clock | undefined): void {
  if (clock !== undefined && typeof clock?.nowUs !== 'function') {
    throw mustBe('clock', 'an object with nowUs()', clock);
  }
}

/** Whether `share` is a number from 0 to 1. */
function isShare(share: unknown): share is number {
  return typeof share === 'number' && share >= 0 && share <= 1;
}

/** Whether a value is an object that is no list. */
export function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isIntegerBetween(
  value: unknown,
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
}

/** As in `an integer from 1 to 1,000,000`. */
function integers(least: number, most: number): string {
  return `an integer from ${least} to ${String(most).replace(/\B(?=(\d{3})+$)/g, ',')}`;
}
