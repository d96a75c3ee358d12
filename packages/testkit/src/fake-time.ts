import { systemClock } from '@spillway/core/store';
import { afterEach, beforeEach, vi } from 'vitest';

/** The time at which each test starts, a Thursday. It is fixed, because no test may depend on the real date. */
const BEGIN_MS = Date.UTC(2026, 0, 1, 12, 34, 56, 789);

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

/** Sets the clock ahead of the timers by `ms`, as after a blocked event loop. */
export function stall(ms: number): void {
  // Looked up at each call, because fake timers replace `performance`.
  const value = () => Math.round((BEGIN_MS + performance.now() + ms) * 1_000);
  Object.defineProperty(systemClock, 'nowUs', { value, configurable: true });
}
