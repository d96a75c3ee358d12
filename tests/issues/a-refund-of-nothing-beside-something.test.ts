/** A refund of nothing in one limit, because its cost was 0, does not prevent the refunds of the other limits. */

import {
  concurrencyLimit,
  createGuard,
  createLimiters,
  memoryStore,
  rateLimit,
} from '@spillway/core';
import { algorithmByName } from '@spillway/core/algorithms';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { redisUrl } from 'spillway-testkit/redis';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';

const LIMIT = { limit: 5, window: '1h' } as const;
const request = {
  method: 'GET',
  path: '/',
  header: () => undefined,
  clientIp: '192.0.2.1',
  raw: {},
};

function suite(open: () => Parameters<typeof createGuard>[1]): void {
  const options = { storeTimeout: '5s', logger: false } as const;

  it.each([
    ['token-bucket'],
    ['fixed-window'],
    ['sliding-window-counter'],
    ['sliding-window-log'],
  ] as const)('createLimiters with a cost of 0: %s', async (algorithm) => {
    const rule = { ...LIMIT, algorithm: algorithmByName(algorithm) };
    const limits = createLimiters({ free: rule, paid: rule }, { ...open(), ...options } as never);
    const taken = await limits.consume({ free: 'a', paid: 'a' }, { cost: { free: 0, paid: 3 } });
    expect(await limits.refund(taken)).toBe(true);
    expect((await limits.peek({ paid: 'a' })).decisions.paid.used).toBe(0);
  });

  it('createLimiters where 0 units of one are given back', async () => {
    const limits = createLimiters({ one: LIMIT, other: LIMIT }, { ...open(), ...options } as never);
    const taken = await limits.consume({ one: 'a', other: 'a' }, { cost: 3 });
    expect(await limits.refund(taken, { cost: { one: 0 } })).toBe(true);
    const { one, other } = (await limits.peek({ one: 'a', other: 'a' })).decisions;
    expect([one.used, other.used]).toEqual([3, 0]);
  });

  it('a guard gives back the permit of a request that cost nothing', async () => {
    const permits = concurrencyLimit({ name: 'permits', limit: 2, key: 'ada' });
    const rate = rateLimit({
      ...LIMIT,
      name: 'rate',
      key: 'ada',
      cost: () => 0,
      refundIf: () => true,
    });
    const guard = createGuard([permits, rate], { ...open(), ...options } as never);
    const allowed: boolean[] = [];
    for (let i = 0; i < 4; i += 1) {
      const admission = await guard.admit(request);
      allowed.push(admission.allowed);
      await admission.release({ status: 200, aborted: false });
    }
    expect(allowed).toEqual([true, true, true, true]);
    await guard.close();
  });
}

describe('in memory', () => suite(() => ({ store: memoryStore() })));

// By the clock of the server: with a manual clock there are no deadlines, which would hide late calls.
describe.skipIf(redisUrl === null)('on Redis', () => {
  const client = new Redis(redisUrl ?? '', { db: 13, lazyConnect: true });
  beforeEach(async () => void (await client.flushdb()));
  afterAll(() => client.disconnect());
  suite(() => ({ store: redisStore(client) }));
});
