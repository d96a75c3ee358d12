/** No permit is left behind, whatever happens to requests and the store. */

import {
  type Admission,
  concurrencyLimit,
  createGuard,
  fleetShedder,
  rateLimit,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import fc from 'fast-check';
import { held, MuteStore, request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

describe('leases', () => {
  it('leave nothing behind after any mix of requests, failures, refusals and releases', async () => {
    const event = fc.record({
      kind: fc.constantFrom('arrive', 'arrive', 'leave', 'mute', 'speak'),
      pick: fc.nat(20),
      aborted: fc.boolean(),
    });
    const policies = fc.constantFrom('allow', 'deny', 'local');
    const limiters = () => [
      fleetShedder({ name: 'fleet', capacity: 5 }),
      concurrencyLimit({ name: 'two', limit: 2 }),
      rateLimit({ name: 'rate', limit: 12, window: '1m' }),
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 60 }), policies, async (events, policy) => {
        const store = remoteStore(new MuteStore());
        const guard = createGuard(limiters(), { store, onStoreError: policy, breaker: false });
        const admit = async (): Promise<Admission> => guard.admit(request());
        const running: Admission[] = [];
        for (const { kind, pick, aborted } of events) {
          if (kind === 'mute') store.mute = true;
          else if (kind === 'speak') store.mute = false;
          else if (kind === 'arrive') running.push(await admit());
          else running.splice(pick % (running.length || 1), 1)[0]?.release({ aborted });
        }
        for (const admission of running) admission.release({ status: 200 });
        expect([held(store.memory), held(store.memory, 'fleet', 'fleet')]).toEqual([0, 0]);
      }),
      { seed: 3, numRuns: 300 },
    );
  });
});
