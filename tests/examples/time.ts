/** Time for examples, whose stores use the clock of the process: it stands still until a test moves it. */

import { onTestFinished, vi } from 'vitest';

/** Stops the clock of the process until the end of the test. Returns a function that moves it by milliseconds. */
export function stopClock(): (ms: number) => void {
  let nowMs = performance.now();
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => void spy.mockRestore());
  return (ms) => {
    nowMs += ms;
  };
}
