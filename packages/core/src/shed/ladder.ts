/**
 * The ladder: calculates from the worker's utilization how many classes to shed, as Stripe's worker utilization load
 * shedder does.
 */

import { coverageOf, type Reading } from './load-signal.js';

/** Below this utilization the shed amount falls. */
const GOOD = 0.7;
/** Above this utilization the shed amount grows. From {@link GOOD} to this value, it does not change. */
const BAD = 0.8;
/** How long full utilization takes to raise the shed amount from 0 to 1. */
const FULL_US = 120_000_000;
/** The level of an idle worker: 28 s of full utilization below 0 (Stripe: 3.5 samples, one every 8 s). */
const REST_US = -28_000_000;
export const LADDER_MEASURE_PERIOD_US = 1_000_000;
/** This long after the next reading was due, the ladder returns to the level of an idle worker. */
const SILENCE_US = 8 * LADDER_MEASURE_PERIOD_US;

/**
 * The state of the ladder. Its level is measured in time at full utilization: -28 s on an idle worker, 0 where shedding
 * starts, and 120 s where everything is shed. The level is in whole microseconds to keep sums exact.
 */
export interface LadderState {
  readonly levelUs: number;
  readonly atUs: number;
}

export function restingLadder(nowUs: number): LadderState {
  return { levelUs: REST_US, atUs: nowUs };
}

export function shedAmountOf(state: LadderState): number {
  return Math.max(0, state.levelUs / FULL_US);
}

/**
 * The state after a reading. While `mayRise` is false, the level only falls. Without a new reading the level stays.
 * Once the next reading is 8 s late, the level is reset to that of an idle worker.
 */
export function advanceLadder(
  state: LadderState,
  reading: Reading | undefined,
  nowUs: number,
  mayRise = true,
): LadderState {
  const covered =
    reading && coverageOf(reading, state.atUs, nowUs, LADDER_MEASURE_PERIOD_US, SILENCE_US);
  if (!reading || !covered) {
    const silent = nowUs - state.atUs > SILENCE_US + LADDER_MEASURE_PERIOD_US;
    return silent && state.levelUs !== REST_US ? { levelUs: REST_US, atUs: state.atUs } : state;
  }
  const from = covered.afterSilence ? REST_US : state.levelUs;
  const slope = slopeAt(reading.value);
  const to = Math.round(from + covered.elapsedUs * (mayRise ? slope : Math.min(slope, 0)));
  return { levelUs: Math.min(Math.max(to, REST_US), FULL_US), atUs: covered.atUs };
}

/** The rise of the level per time: 1 at full utilization, -1 if idle, 0 between {@link GOOD} and {@link BAD}. */
function slopeAt(utilization: number): number {
  if (utilization < GOOD) return utilization / GOOD - 1;
  if (utilization < BAD) return 0;
  return Math.min(1, (utilization / BAD - 1) / (1 / BAD - 1));
}

/**
 * The probability with which the ladder rejects class number `rank` of `count` (0 is shed first). Each class takes an
 * equal part of the shed amount, and a class is shed completely before the next one begins.
 */
export function ladderProbability(amount: number, rank: number, count: number): number {
  return Math.min(Math.max(count * amount - rank, 0), 1);
}
