/** How long before its start a job looks once more whether its key is paused: so late may a pause come to stop it. */

/** Usually, at the most. One look does for all jobs of a key in this process that start within this time. */
export const AHEAD_US = 50_000;

/** A look takes at most so many times as long as others did, and a timer is late by a millisecond or two. */
const SLOWER = 2;
const LATE_US = 2_000;

/**
 * So much earlier a look must begin, that its answer comes before the start.
 *
 * @param answerUs how long the store takes to answer
 */
export function timeForLookUs(answerUs: number): number {
  return SLOWER * answerUs + LATE_US;
}

/**
 * The time for a key that was paused not long ago, and so may be again: as short as the store allows.
 *
 * @param answerUs how long the store takes to answer
 */
export function shortAheadUs(answerUs: number): number {
  return Math.min(AHEAD_US, timeForLookUs(answerUs));
}
