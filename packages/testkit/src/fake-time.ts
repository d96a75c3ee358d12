/** Timers and the process's clock that move only when told, together. */

import { systemClock } from '@spillway/core/store';
import { afterEach, beforeEach, vi } from 'vitest';

/** For the tests of the file or block in which it is called. */
export function fakeTime(): void {
  beforeEach(() => {
    vi.useFakeTimers();
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
  const value = () => Math.round((performance.timeOrigin + performance.now() + ms) * 1_000);
  Object.defineProperty(systemClock, 'nowUs', { value, configurable: true });
}
