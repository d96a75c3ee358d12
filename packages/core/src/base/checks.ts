/** Checks of what users write. One that fails throws a SpillwayError that names the option and shows the value. */

import { SpillwayError, show } from './errors.js';

/** The largest limit and burst. */
export const MAX_LIMIT = 1_000_000_000;

/** Whether `limit` is one that a rule can have. */
export function isLimit(limit: unknown): limit is number {
  return Number.isSafeInteger(limit) && (limit as number) >= 1 && (limit as number) <= MAX_LIMIT;
}

/**
 * The longest key in UTF-16 units: naming one costs a tenth of a millisecond, and a key of a megabyte would cost
 * twenty.
 */
export const MAX_KEY = 8_192;

/** Whether `key` can name a count. */
export function isKey(key: unknown): key is string {
  return typeof key === 'string' && key !== '' && key.length <= MAX_KEY;
}

/**
 * A key that was given directly.
 *
 * @throws SpillwayError `SPW_KEY_INVALID`
 */
export function checkKey(key: unknown, alternative = ''): asserts key is string {
  if (isKey(key)) return;
  const isLong = typeof key === 'string' && key !== '';
  throw new SpillwayError(
    'SPW_KEY_INVALID',
    isLong
      ? `key must have at most 8,192 UTF-16 units, got ${key.length}: hash what is longer`
      : `key must be a string that is not empty${alternative}, got ${show(key)}`,
  );
}

/** The error for what is no limit; who writes 0 is told what there is for it. */
export function limitInvalid(rule: string, limit: unknown): SpillwayError {
  const hint = limit === 0 ? ": to refuse a key use block, to switch a limit off mode: 'off'" : '';
  return new SpillwayError('SPW_LIMIT_INVALID', `${rule}, got ${show(limit)}${hint}`);
}

/** Whether `cost` is a number of units: an integer from 0 to 2^53 - 1. */
export function isCost(cost: unknown): cost is number {
  return Number.isSafeInteger(cost) && (cost as number) >= 0;
}

/**
 * A limiter's name: 1 to 64 printable ASCII characters, because it stands in headers.
 *
 * @throws SpillwayError `SPW_NAME_INVALID`
 */
export function checkName(name: unknown): string {
  if (typeof name !== 'string' || !/^[\x20-\x7e]{1,64}$/.test(name)) {
    throw new SpillwayError(
      'SPW_NAME_INVALID',
      `name must be 1 to 64 printable ASCII characters, got ${show(name)}`,
    );
  }
  return name;
}

/**
 * One of a list of words, or undefined.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function checkWord<Word extends string>(
  option: string,
  value: Word | undefined,
  words: readonly Word[],
): Word | undefined {
  if (value === undefined || words.includes(value)) return value;
  throw new SpillwayError(
    'SPW_OPTION_INVALID',
    `${option} must be one of ${words.join(', ')}, got ${show(value)}`,
  );
}
