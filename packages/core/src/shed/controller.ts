/** The fast loop: which fraction of requests to refuse so that the event loop's wait stays at its mark. */

import { coverageOf } from './coverage.js';
import type { Reading } from './signal.js';

/** How often the fraction is reckoned anew. */
export const TICK_US = 100_000;
/** What a tick adds to the integral per unit of error. */
const INTEGRAL_GAIN = 0.02;
/** What the present error adds to the fraction. */
const PROPORTIONAL_GAIN = 0.15;
/** The most that is refused: some requests must pass, or nothing is learnt. */
const MAX_FRACTION = 0.97;
/** The error is bounded, below by what an idle loop has, above so that one stall does not wind the integral up. */
const MAX_ERROR = 2;
/** Without readings for so long, nothing is refused. */
const SILENCE_US = 8_000_000;

/** What the controller knows. */
export interface ControllerState {
  readonly integral: number;
  /** The fraction to refuse, from 0 to 0.97. */
  readonly fraction: number;
  readonly atUs: number;
}

/** A controller that has seen no load. */
export function restingController(nowUs: number): ControllerState {
  return { integral: 0, fraction: 0, atUs: nowUs };
}

/** The controller after a reading of which 1 is the mark; without one it holds, then rests. */
export function advanceController(
  state: ControllerState,
  sample: Reading | undefined,
  nowUs: number,
): ControllerState {
  const covered = sample && coverageOf(sample, state.atUs, nowUs, TICK_US, SILENCE_US);
  if (!sample || !covered) {
    const silent = nowUs - state.atUs > SILENCE_US + TICK_US;
    return silent && state.fraction !== 0 ? { integral: 0, fraction: 0, atUs: state.atUs } : state;
  }
  if (covered.elapsedUs < TICK_US) return state;
  const error = Math.min(sample.value - 1, MAX_ERROR);
  const ticks = covered.elapsedUs / TICK_US;
  const before = covered.afterSilence ? 0 : state.integral;
  const integral = clamp(before + INTEGRAL_GAIN * error * ticks);
  return { integral, fraction: clamp(integral + PROPORTIONAL_GAIN * error), atUs: covered.atUs };
}

function clamp(fraction: number): number {
  return Math.min(Math.max(fraction, 0), MAX_FRACTION);
}
