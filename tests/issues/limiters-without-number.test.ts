/**
 * A limiter that is made for each request has a new count each time. These counts must not fill memory beyond its
 * bound.
 */

import { memoryStore, rateLimit, type Step } from '@spillway/core';
import { algorithmByName } from '@spillway/core/algorithms';
import { expect, it } from 'vitest';

it.each(['token-bucket', 'fixed-window', 'sliding-window-log'] as const)(
  'a full memory store stays bounded, however many limiters count in it: %s',
  (algorithm) => {
    const store = memoryStore({ maxEntries: 1_000 });
    const { rule } = rateLimit({ limit: 5, window: '1d', algorithm: algorithmByName(algorithm) });
    for (let i = 0; i < 20_000; i += 1) {
      const limiter = i.toString(36); // as the memory of limiters without a store names them
      const step: Step = {
        op: 'take',
        limiter,
        key: 'ada',
        rule,
        cost: 1,
        binding: true,
        onStoreError: 'deny',
      };
      store.apply([step]);
    }
    expect(store.size).toBeLessThanOrEqual(1_000 + 1_024);
  },
);
