/** Nothing in a process grows with values that clients choose anew for each request. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  type Answer,
  concurrencyLimit,
  createGuard,
  createLimiter,
  decisionLog,
  type LimitRequest,
  type LocalLimiter,
  memoryControl,
  memoryStore,
  rateLimit,
  type Step,
  type Store,
} from '@spillway/core';
import { Tally } from '@spillway/core/adapter';
import { compareWith } from '@spillway/core/compare';
import { remoteStore } from '@spillway/core/store';
import { topCallers } from '@spillway/core/who';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { skippedDecision } from '../../packages/core/src/contract/decision.js';
import { StoreClient } from '../../packages/core/src/stores/store-client.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapMb(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 1e6;
}

/** Answers later, as Redis does; holds little. */
function farStore(): Store {
  const memory = memoryStore({ maxEntries: 100 });
  return remoteStore({
    sync: false,
    apply: async (steps: readonly Step[]): Promise<readonly Answer[]> => memory.apply(steps),
  });
}

const chosen = ({ path }: LimitRequest) => ({ limit: Number(path) });

/** Rejects in a class that the client names. This mistake may cost labels, but not memory. */
const careless: LocalLimiter = {
  kind: 'local',
  name: 'careless',
  mode: 'enforce',
  decide: ({ path }) => ({ ...skippedDecision('careless'), priority: `class ${path}` }),
};

describe.each([
  ['in memory', () => memoryStore({ maxEntries: 100 }), 10],
  // The denial cache may still fill up to 50,000 entries.
  ['of a store far away', farStore, 20],
])(
  'a guard %s whose clients choose key, address, limit, cost and class',
  (_, makeStore, mostMb) => {
    it('holds no more after 36,000 requests than after 12,000', async () => {
      const tally = new Tally();
      const control = memoryControl();
      control.set(
        'rate',
        { limits: { window: '2h' }, share: 0.5 },
        { by: 'ada', because: 'a test', for: '1h' },
      );
      const guard = createGuard(
        [
          rateLimit({
            name: 'rate',
            window: '1h',
            burst: 1_000,
            limit: 5,
            plan: chosen,
            key: ({ path }) => `key ${path}`,
            cost: ({ path }) => (Number(path) % 3) * 1_000,
          }),
          rateLimit({ name: 'address', limit: 1, window: '1h' }),
          concurrencyLimit({ name: 'now', limit: 5, plan: chosen, share: 0.5 }),
          careless,
        ],
        {
          store: makeStore(),
          control,
          observers: [
            tally,
            decisionLog({ write: () => undefined }),
            topCallers(),
            compareWith(() => ({ allowed: true })),
          ],
          logger: false,
        },
      );
      let next = 1;
      const flood = async (times: number) => {
        for (let i = 0; i < times; i += 1) {
          const path = `${next++}`;
          const admission = await guard.admit(
            request({
              path,
              clientIp: `2001:db8:${(next >> 12).toString(16)}:${(next & 4095).toString(16)}::`,
            }),
          );
          await admission.release({ status: 200 });
        }
      };
      await flood(12_000);
      const before = heapMb();
      await flood(24_000);
      expect(heapMb() - before).toBeLessThan(mostMb);
      expect(guard.inProgress).toBe(0);
      // Each decision is counted, though not each under a label of its own.
      const decided = tally.decisions();
      expect(decided.length).toBeLessThan(10_100);
      expect(decided.reduce((sum, { value }) => sum + value, 0)).toBe(4 * 36_000);
    }, 60_000);
  },
);

describe('names that are made of what clients send', () => {
  it('are compared up to 10,000 of them, and held no longer', () => {
    const client = new StoreClient({ store: memoryStore({ maxEntries: 10 }) }, undefined, []);
    const { rule } = createLimiter({ limit: 1, window: '1h' });
    for (let i = 0; i < 10_000; i += 1) client.claim({ name: `tenant ${i}` }, rule);
    const before = heapMb();
    for (let i = 10_000; i < 100_000; i += 1) client.claim({ name: `tenant ${i}` }, rule);
    expect(heapMb() - before).toBeLessThan(3);
    const other = createLimiter({ limit: 2, window: '1h' }).rule;
    expect(() => client.claim({ name: 'tenant 9999' }, other)).toThrow(/SPW_NAME_CONFLICT/);
  });
});
