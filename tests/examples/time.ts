/** Time for examples, whose stores have the clock of the process: it stands still, and moves when told. */

import { onTestFinished, vi } from 'vitest';

/** Stops the clock of the process until the test is over; gives what moves it, by milliseconds. */
export function stopClock(): (ms: number) => void {
  let nowMs = performance.now();
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => void spy.mockRestore());
  return (ms) => {
    nowMs += ms;
  };
}
