/** Groups that lie in several parts of a store, of which one fails. */

import {
  createLimiters,
  fixedWindow,
  lockFor,
  memoryStore,
  type Store,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core';
import { askParts, partsOf, remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';

const silent = { validate: false, logger: false } as const;

/** A store whose parts are its limiters. */
function storeWithout(down: readonly string[], clock: ManualClock): Store {
  const memory = memoryStore({ clock });
  return remoteStore({
    sync: false,
    domainOf: ({ limiter }) => limiter,
    apply: async (steps) => {
      if (steps.some(({ limiter }) => down.includes(limiter))) throw new Error('down');
      return memory.apply(steps);
    },
  });
}

it.each([[['account']], [['account', 'address']]])(
  'starts a lock while %s is down',
  async (down) => {
    const clock = new ManualClock();
    const penalty = lockFor(['1h']);
    const logins = createLimiters(
      {
        account: { limit: 3, window: '10m', algorithm: fixedWindow, penalty },
        address: { limit: 1_000, window: '10m' },
      },
      { store: storeWithout(down, clock), clock, ...silent },
    );
    const keys = { account: 'ada', address: '192.0.2.1' };
    const attempts = async (): Promise<boolean[]> => {
      const allowed: boolean[] = [];
      for (let i = 0; i < 5; i += 1) allowed.push((await logins.consume(keys)).allowed);
      return allowed;
    };
    expect(await attempts()).toEqual([true, true, true, false, false]);
    clock.advance('10m');
    expect(await attempts()).toEqual([false, false, false, false, false]);
  },
);

it('shows what remains after the charge in the fallback counters', async () => {
  const clock = new ManualClock();
  const limits = { a: { limit: 5, window: '1h' }, b: { limit: 5, window: '1h' } } as const;
  const limiters = createLimiters(limits, { store: storeWithout(['b'], clock), clock, ...silent });
  const { decisions } = await limiters.consume({ a: 'ada', b: 'ada' });
  expect([decisions.a.remaining, decisions.b.remaining]).toEqual([4, 4]);
});

it('keeps its decision, although other requests used the fallback counters meanwhile', async () => {
  const clock = new ManualClock();
  const limits = { a: { limit: 5, window: '1h' }, b: { limit: 1, window: '1h' } } as const;
  const limiters = createLimiters(limits, { store: storeWithout(['b'], clock), clock, ...silent });
  const both = await Promise.all([1, 2].map(() => limiters.consume({ a: 'ada', b: 'bob' })));
  // A charge in the store is given back only if the group is rejected.
  const charged = both.filter(({ allowed }) => allowed).length;
  expect((await limiters.peek({ a: 'ada', b: 'eve' })).decisions.a.used).toBe(charged);
});

describe('beside a part that rejects', () => {
  const algorithms = { tokenBucket, fixedWindow, slidingWindow, slidingLog };
  it.each(Object.entries(algorithms))('counts by the fallback: %s', async (_, algorithm) => {
    const memory = memoryStore({ clock: new ManualClock() });
    const store = remoteStore({
      sync: false,
      apply: (steps) =>
        askParts(
          partsOf(steps, ({ key }) => key),
          async (own, key) => {
            if (key === 'bad') throw new Error('WRONGTYPE');
            return memory.apply(own);
          },
        ),
    });
    const limits = {
      full: { limit: 1, window: '1m', algorithm },
      failed: { limit: 5, window: '1m', algorithm },
    } as const;
    const limiters = createLimiters(limits, { store, ...silent });
    await limiters.consume({ full: 'ada', failed: 'ada' });
    const { allowed, decisions } = await limiters.consume({ full: 'ada', failed: 'bad' });
    expect(allowed).toBe(false);
    const { used, remaining, retryAfterMs } = decisions.failed;
    expect({ used, remaining, retryAfterMs }).toEqual({ used: 0, remaining: 5, retryAfterMs: 0 });
  });
});
