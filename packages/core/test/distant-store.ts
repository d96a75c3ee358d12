/** A remote store, with a clock of the test, which counts its calls and may be down. */

import { memoryStore, type Step } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import type { ManualClock } from '@spillway/core/testing';

export function distantStore(clock: ManualClock) {
  const memory = memoryStore({ clock });
  let [calls, isDown] = [0, false];
  const store = remoteStore({
    sync: false as const,
    testClock: clock,
    apply: async (steps: readonly Step[]) => {
      calls += 1;
      if (isDown) throw new Error('down');
      return memory.apply(steps);
    },
  });
  const down = () => {
    isDown = true;
  };
  return { store, down, calls: () => calls };
}
