/** Timers and the process's clock that move only when told, together. */

import { systemClock } from '@spillway/core/store';
import { afterEach, beforeEach, vi } from 'vitest';

/** When each test begins, so that none depends on the real date: a Thursday. */
const BEGIN_MS = Date.UTC(2026, 0, 1, 12, 34, 56, 789);

/** For the tests of the file or block in which it is called. */
export function fakeTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: BEGIN_MS });
    stall(0);
  });
  afterEach(() => {
    Reflect.deleteProperty(systemClock, 'nowUs');
    vi.useRealTimers();
  });
}

/** From now on the clock is so far ahead of the timers: the event loop stood still. */
export function stall(ms: number): void {
  // Looked up at each call: the fake puts a `performance` of its own in the place of the real one.
  const value = () => Math.round((BEGIN_MS + performance.now() + ms) * 1_000);
  Object.defineProperty(systemClock, 'nowUs', { value, configurable: true });
}
