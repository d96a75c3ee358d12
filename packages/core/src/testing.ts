/** @spillway/core/testing: helpers for tests of code that uses Spillway. */

import type { Clock } from './base/clock.js';
import { type Duration, toMicroseconds } from './base/duration.js';

/**
 * A clock that only moves when you move it.
 *
 * @example
 * ```ts
 * import { createLimiter, memoryStore } from '@spillway/core';
 * import { ManualClock } from '@spillway/core/testing';
 *
 * const clock = new ManualClock();
 * const limiter = createLimiter({ limit: 1, window: '1m' }, { store: memoryStore({ clock }) });
 * limiter.consume('ada').allowed; // true
 * limiter.consume('ada').allowed; // false
 * clock.advance('1m');
 * limiter.consume('ada').allowed; // true
 * ```
 */
export class ManualClock implements Clock {
  private instantUs: number;

  /** @param startUs initial time, in microseconds since the epoch. Default: 2026-01-01T00:00:00Z. */
  constructor(startUs: number = 1_767_225_600_000_000) {
    this.instantUs = startUs;
  }

  nowUs(): number {
    return this.instantUs;
  }

  /** Moves forward by a duration such as `'1m'`, or by milliseconds (multiples of 0.001). */
  advance(duration: Duration): void {
    this.instantUs += toMicroseconds(duration);
  }

  /** Moves to an instant in microseconds since the epoch, forwards or backwards. */
  setUs(us: number): void {
    this.instantUs = us;
  }
}
