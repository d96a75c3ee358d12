/**
 * One part of a store is down, and a request refunds what it took in several parts: each fallback counter is refunded
 * once.
 */

import { createGuard, memoryStore, rateLimit, type Step, type Store } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';

/** Two parts, by the first letter of a key; the part `a` does not answer. */
function halfDown(): Store {
  const memory = memoryStore();
  return remoteStore({
    sync: false,
    domainOf: ({ key }: Step) => key.slice(0, 1),
    apply: async (steps: readonly Step[]) => {
      if (steps.some(({ key }) => key.startsWith('a'))) throw new Error('down');
      return memory.apply(steps);
    },
  });
}

describe.each([
  ['while calls fail', false as const],
  ['while the breaker is open', { failures: 1 }],
])('%s', (_, breaker) => {
  it('requests that are given back earn nothing for others', async () => {
    const refundIf = (_: unknown, { status }: { status?: number }) => status === 400;
    const limit = (name: string, key: string, units: number) =>
      rateLimit({ name, limit: units, window: '1h', key, refundIf });
    const options = { store: halfDown(), breaker, denialCache: false, logger: false as const };
    const guard = createGuard([limit('user', 'ada', 10), limit('address', 'b', 1000)], options);

    let served = 0;
    for (let i = 0; i < 60; i += 1) {
      const admission = await guard.admit({
        method: 'GET',
        path: '/',
        header: () => undefined,
        clientIp: '192.0.2.1',
        raw: {},
      });
      if (!admission.allowed) continue;
      const status = i % 2 === 0 ? 200 : 400;
      if (status === 200) served += 1;
      await admission.release({ status, aborted: false });
      await new Promise(setImmediate);
    }
    expect(served).toBe(10);
  });
});
