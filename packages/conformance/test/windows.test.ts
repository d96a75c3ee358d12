/** The checks of a store take the window from the rule, because an algorithm may have its own, such as a month. */

import { memoryStore } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { describe, it, vi } from 'vitest';

vi.mock('../src/rules.js', async (load) => {
  const rules = await load<typeof import('../src/rules.js')>();
  const rateRule: typeof rules.rateRule = (algorithm, limit, windowUs, burst) =>
    rules.rateRule(algorithm, limit, 7 * windowUs, burst);
  return { ...rules, rateRule };
});

const { storeConformance } = await import('@spillway/conformance');

describe('the memory store, whose windows are seven times as long as checks ask for', () => {
  const checks = storeConformance({
    open: () => {
      const clock = new ManualClock();
      return { store: memoryStore({ clock }), setTimeUs: (us) => clock.setUs(us) };
    },
  });
  for (const check of checks) it(check.name, check.run);
});
