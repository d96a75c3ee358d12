/** The slow loop: how much of the classes stays off, by Stripe's worker utilization load shedder. */

import { coverageOf } from './coverage.js';
import type { Reading } from './signal.js';

/** Below this utilization load comes back. */
const GOOD = 0.7;
/** From this utilization load is shed; between the two nothing changes. */
const BAD = 0.8;
/** From nothing to everything at full utilization. */
const FULL_US = 120_000_000;
/** Where an unloaded worker rests: full utilization takes 28 s (3.5 of the original's samples of 8 s) to undo that. */
const REST_US = -28_000_000;
/** How often utilization is sampled. */
export const LADDER_PERIOD_US = 1_000_000;
/** Without samples for so many periods the ladder rests: what it knew is past. */
const SILENCE_US = 8 * LADDER_PERIOD_US;

/**
 * What the ladder knows. The level is kept as a time, whole microseconds at full utilization, so that sums of samples
 * are exact: -28 s is rest, 0 is where shedding starts, 120 s is everything.
 */
export interface LadderState {
  readonly levelUs: number;
  /** When the newest sample was taken. */
  readonly atUs: number;
}

/** An idle worker's ladder, from which overload must last before anything is shed. */
export function restingLadder(nowUs: number): LadderState {
  return { levelUs: REST_US, atUs: nowUs };
}

/** How far up the classes it sheds: 0 is nothing, 1 everything that may be shed. */
export function shedAmountOf(state: LadderState): number {
  return Math.max(0, state.levelUs / FULL_US);
}

/**
 * The ladder after a sample: it climbs from 0.8, at full utilization by 1/120 a second, and comes down below 0.7, when
 * idle just as fast. Without a new sample it holds, then rests.
 */
export function advanceLadder(
  state: LadderState,
  sample: Reading | undefined,
  nowUs: number,
): LadderState {
  const covered = sample && coverageOf(sample, state.atUs, nowUs, LADDER_PERIOD_US, SILENCE_US);
  if (!sample || !covered) {
    const silent = nowUs - state.atUs > SILENCE_US + LADDER_PERIOD_US;
    return silent && state.levelUs !== REST_US ? { levelUs: REST_US, atUs: state.atUs } : state;
  }
  const from = covered.afterSilence ? REST_US : state.levelUs;
  const to = Math.round(from + covered.elapsedUs * slopeAt(sample.value));
  return { levelUs: Math.min(Math.max(to, REST_US), FULL_US), atUs: covered.atUs };
}

/** Level per time: 1 at full utilization, -1 when idle, 0 in the dead zone. */
function slopeAt(utilization: number): number {
  if (utilization < GOOD) return utilization / GOOD - 1;
  if (utilization < BAD) return 0;
  return Math.min(1, (utilization / BAD - 1) / (1 / BAD - 1));
}

/**
 * The probability with which the ladder refuses the class that is shed `rank`-th (0 first) of `count`: each class takes
 * an equal part of the way, and one is off before the next begins.
 */
export function ladderProbability(amount: number, rank: number, count: number): number {
  return Math.min(Math.max(count * amount - rank, 0), 1);
}
