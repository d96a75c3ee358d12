import { storeConformance } from '@spillway/conformance';
import { memoryStore } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { describe, it } from 'vitest';

describe('the memory store', () => {
  const checks = storeConformance({
    open: () => {
      const clock = new ManualClock();
      return { store: memoryStore({ clock }), setTimeUs: (us) => clock.setUs(us) };
    },
  });
  for (const check of checks) it(check.name, check.run);
});
