/**
 * The brake: calculates which fraction of each class to reject in order to hold the event loop delay at its target.
 */

import { coverageOf, type Reading } from './load-signal.js';

export const TICK_US = 100_000;
/** How much the integral grows per tick and unit of error. */
const INTEGRAL_GAIN = 0.01;
/**
 * Errors above 1, or below -4/9, are weighted by their size. The integral must change fast when an overload begins or
 * ends, and slowly near the target. Otherwise the fraction would oscillate.
 */
const weightOf = (error: number): number => Math.max(1, error, -2.25 * error);
/** How much the fraction grows per unit of the current error, if the error is positive. */
const RISING_GAIN = 0.25;
/**
 * How much the fraction falls per unit of a negative error. With a larger gain, the fraction would swing: in idle
 * moments even the lowest classes would pass, and in other moments higher classes would be rejected.
 */
const FALLING_GAIN = 0.1;
/** The largest fraction. Some requests must pass, because otherwise the controller can't see when the load ends. */
const MAX_FRACTION = 0.97;
/** The largest error, because one long stall would make the integral too large. An idle event loop has -1. */
const MAX_ERROR = 2;
/** This long after the next reading was due, the brake rejects nothing. */
const SILENCE_US = 8_000_000;

export interface ControllerState {
  readonly integral: number;
  /** The fraction to reject, from 0 to 0.97. */
  readonly fraction: number;
  readonly atUs: number;
}

export function restingController(nowUs: number): ControllerState {
  return { integral: 0, fraction: 0, atUs: nowUs };
}

/**
 * Returns the controller's state after a reading of the load, whose target is 1. Without a reading, the state does not
 * change. Once the next one is 8 s late, the state is reset.
 */
export function advanceController(
  state: ControllerState,
  reading: Reading | undefined,
  nowUs: number,
): ControllerState {
  const covered = reading && coverageOf(reading, state.atUs, nowUs, TICK_US, SILENCE_US);
  if (!reading || !covered) {
    const silent = nowUs - state.atUs > SILENCE_US + TICK_US;
    return silent && state.fraction !== 0 ? { integral: 0, fraction: 0, atUs: state.atUs } : state;
  }
  // After a silence, the reading may span less than a tick. It still begins anew, or each later one would do so too.
  if (covered.elapsedUs < TICK_US && !covered.afterSilence) return state;
  const error = Math.min(reading.value - 1, MAX_ERROR);
  const ticks = covered.elapsedUs / TICK_US;
  const before = covered.afterSilence ? 0 : state.integral;
  const gain = error > 0 ? RISING_GAIN : FALLING_GAIN;
  // Anti-windup: once the fraction is at its maximum, a larger integral would only reject too much when the load has
  // ended.
  const room = error > 0 ? Math.max(before, MAX_FRACTION - gain * error) : MAX_FRACTION;
  const growth = INTEGRAL_GAIN * weightOf(error) * error * ticks;
  const integral = clamp(Math.min(before + growth, room));
  return { integral, fraction: clamp(integral + gain * error), atUs: covered.atUs };
}

/** Whether the brake can hold its target: it has current readings and is below its maximum. */
export function holds(state: ControllerState, nowUs: number): boolean {
  return state.fraction < MAX_FRACTION && nowUs - state.atUs <= SILENCE_US + TICK_US;
}

function clamp(fraction: number): number {
  return Math.min(Math.max(fraction, 0), MAX_FRACTION);
}

/** The counts fall to 1/e in this time, which is much longer than a burst and much shorter than changes of traffic. */
const MEMORY_US = 3_000_000;

/** The share of each class in the traffic: the brake rejects a fraction of all requests, lowest classes first. */
export class Mix {
  private readonly counts: number[];
  private total = 0;
  private fadedUs: number | undefined;

  /** @param classes how many classes there are; rank 0 is shed first */
  constructor(classes: number) {
    this.counts = new Array<number>(classes).fill(0);
  }

  countRequest(rank: number, nowUs: number): void {
    this.fade(nowUs);
    this.counts[rank] = (this.counts[rank] ?? 0) + 1;
    this.total += 1;
  }

  /** The probability of rejecting a request of the class when a `fraction` of all requests must be rejected. */
  probability(fraction: number, rank: number): number {
    let left = fraction * this.total;
    for (let lower = 0; lower < rank; lower++) left -= this.counts[lower] ?? 0;
    const own = this.counts[rank] ?? 0;
    if (left <= 0 || own <= 0) return 0;
    return Math.min(left / own, 1);
  }

  /** Decays the counts at most ten times in {@link MEMORY_US}, so that most requests only add 1. */
  private fade(nowUs: number): void {
    this.fadedUs ??= nowUs;
    const elapsedUs = nowUs - this.fadedUs;
    if (elapsedUs < MEMORY_US / 10) return;
    this.fadedUs = nowUs;
    const factor = Math.exp(-elapsedUs / MEMORY_US);
    this.total = 0;
    for (let rank = 0; rank < this.counts.length; rank++) {
      const faded = (this.counts[rank] ?? 0) * factor;
      this.counts[rank] = faded;
      this.total += faded;
    }
  }
}
