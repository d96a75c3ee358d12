import type { Clock } from './clock.js';
import { type Duration, parseDuration } from './duration.js';
import { mustBe, planHint, SpillwayError, type SpillwayErrorCode } from './errors.js';

export const MAX_LIMIT = 1_000_000_000;

/** The longest key in UTF-16 units. Encoding such a key takes 0.1 ms; a megabyte would take 20 ms. */
const MAX_KEY = 8_192;

function isLimit(limit: unknown): limit is number {
  return isIntegerBetween(limit, 1, MAX_LIMIT);
}

export function isKey(key: unknown): key is string {
  return typeof key === 'string' && key !== '' && key.length <= MAX_KEY;
}

export function isCost(cost: unknown): cost is number {
  return isIntegerBetween(cost, 0);
}

/**
 * Checks a key.
 *
 * @param alternative for the message: what the option accepts besides a key
 * @throws SpillwayError `SPW_KEY_INVALID`
 */
export function checkKey(key: unknown, alternative = ''): asserts key is string {
  if (isKey(key)) return;
  if (typeof key !== 'string' || key === '') {
    throw mustBe('key', `a non-empty string${alternative}`, key, 'SPW_KEY_INVALID');
  }
  throw new SpillwayError(
    'SPW_KEY_INVALID',
    `key must have at most 8,192 UTF-16 units, got ${key.length}: hash what is longer`,
  );
}

/**
 * Checks a limit.
 *
 * @param addition for the message: what the option accepts besides a limit, or when it is required
 * @throws SpillwayError `SPW_LIMIT_INVALID`
 */
export function checkLimit(option: string, limit: unknown, addition = ''): number {
  if (isLimit(limit)) return limit;
  const hint =
    limit === 0
      ? ": to reject a key use block, to turn a limit off use mode: 'off'"
      : planHint(limit);
  throw mustBe(option, `${integers(1, MAX_LIMIT)}${addition}`, limit, 'SPW_LIMIT_INVALID', hint);
}

/** @throws SpillwayError `SPW_BURST_INVALID` */
export function checkBurst(burst: unknown): number {
  if (isLimit(burst)) return burst;
  throw mustBe('burst', integers(1, MAX_LIMIT), burst, 'SPW_BURST_INVALID', planHint(burst));
}

export function checkCost(cost: unknown): number {
  if (isCost(cost)) return cost;
  throw mustBe('cost', 'an integer from 0', cost, 'SPW_COST_INVALID');
}

/**
 * Checks a limiter's name: 1 to 64 printable ASCII characters, because it appears in headers.
 *
 * @throws SpillwayError `SPW_NAME_INVALID`
 */
export function checkName(name: unknown): string {
  if (typeof name === 'string' && /^[\x20-\x7e]{1,64}$/.test(name)) return name;
  throw mustBe('name', '1 to 64 printable ASCII characters', name, 'SPW_NAME_INVALID');
}

/** @throws SpillwayError `SPW_OPTION_INVALID`, or `code`, for a value that is neither one of `words` nor undefined */
export function oneOf<Word extends string | number>(
  option: string,
  value: Word | undefined,
  words: readonly Word[],
  code?: SpillwayErrorCode,
): Word | undefined {
  if (value === undefined || words.includes(value)) return value;
  throw mustBe(option, `one of ${words.join(', ')}`, value, code);
}

/** @throws SpillwayError `SPW_OPTION_INVALID`, or `code` */
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
 * Checks an integer from 1 to 2^53 - 1, for options of stores.
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

/** @throws SpillwayError `SPW_OPTION_INVALID` */
export function shareFromZero(option: string, share: unknown): number {
  if (isShare(share)) return share;
  throw mustBe(option, 'from 0 to 1', share);
}

export function shareAboveZero(option: string, share: unknown): number {
  if (isShare(share) && share > 0) return share;
  throw mustBe(option, 'above 0 and at most 1', share);
}

/**
 * Checks a duration from `least` to `most` and returns it in whole microseconds.
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

/** @throws SpillwayError `SPW_OPTION_INVALID` for a value that is neither a function nor undefined */
export function checkCallback(option: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw mustBe(option, 'a function', value);
}

/** @throws SpillwayError `SPW_OPTION_INVALID` for a value that is neither a clock nor undefined */
export function checkClock(clock: Clock | undefined): void {
  if (clock !== undefined && typeof clock?.nowUs !== 'function') {
    throw mustBe('clock', 'an object with nowUs()', clock);
  }
}

function isShare(share: unknown): share is number {
  return typeof share === 'number' && share >= 0 && share <= 1;
}

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

function integers(least: number, most: number): string {
  return `an integer from ${least} to ${String(most).replace(/\B(?=(\d{3})+$)/g, ',')}`;
}
