/** A loop that awaits our promises lets timers fire and replies be read, even if all results are known at once. */

import {
  createGuard,
  createLimiter,
  createLimiters,
  memoryStore,
  rateLimit,
  SpillwayError,
  type Store,
} from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { remoteStore } from '@spillway/core/store';
import { createShaper } from '@spillway/outgoing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

const limit = { name: 'api', limit: 5, window: '1h' } as const;
const breaker = { failures: 1, probeEvery: '20ms' } as const;

/** A store in another process, which is down until a test sets `isUp`. */
function store(isUp = false) {
  const memory = memoryStore();
  const down = new SpillwayError('SPW_STORE_UNAVAILABLE', 'gone');
  const remote: Store = remoteStore({
    sync: false,
    domainOf: ({ key }) => key,
    apply: async (steps) => {
      if (!state.isUp) throw down;
      return memory.apply(steps);
    },
  });
  const state = { isUp, remote };
  return state;
}

/** How often the promise was awaited before a timer of 1 ms fired; at most as often as a blocked loop would show. */
async function turnsUntilTimer(ask: () => unknown): Promise<number> {
  let isOver = false;
  setTimeout(() => {
    isOver = true;
  }, 1);
  const MOST = 200_000;
  for (let i = 1; i <= MOST; i += 1) {
    await ask();
    if (isOver) return i;
  }
  throw new Error(`no timer fired while ${MOST} promises were awaited`);
}

const settings = { breaker, logger: false } as const;

const LOOPS: Readonly<Record<string, () => () => unknown>> = {
  'consume in an outage'() {
    const limiter = createLimiter(limit, { ...settings, store: store().remote });
    return () => limiter.consume('ada');
  },
  'consume in an outage without a breaker'() {
    const limiter = createLimiter(limit, { ...settings, store: store().remote, breaker: false });
    return () => limiter.consume('ada');
  },
  'peek, reset and refund in an outage'() {
    const limiter = createLimiter(limit, { ...settings, store: store().remote });
    return async () => {
      await limiter.peek('ada');
      await limiter.reset('ada');
      await limiter.refund(await limiter.consume('ada'));
    };
  },
  'a group over several parts in an outage'() {
    const limiter = createLimiter(limit, { ...settings, store: store().remote });
    return () => limiter.consumeAll(['ada', 'bob']);
  },
  'consumeFirst in an outage'() {
    const all = { a: { limit: 5, window: '1h' }, b: { limit: 5, window: '1h' } } as const;
    const limiters = createLimiters(all, { ...settings, store: store().remote });
    return () =>
      limiters.consumeFirst([
        { a: 'ada', b: 'ada' },
        { a: 'bob', b: 'bob' },
      ]);
  },
  'a denial that is remembered'() {
    const { remote } = store(true);
    const limiter = createLimiter({ ...limit, limit: 1 }, { ...settings, store: remote });
    return () => limiter.consume('ada');
  },
  'a guard in an outage'() {
    const limiter = rateLimit({ ...limit, key: () => 'ada' });
    const guard = createGuard(limiter, { ...settings, store: store().remote });
    return () => guard.admit(request());
  },
  'a guard whose key comes later'() {
    const guard = createGuard(rateLimit({ ...limit, key: async () => 'ada' }), settings);
    return () => guard.admit(request());
  },
  'the check of a guard for fetch'() {
    const guard = fetchGuard(rateLimit({ ...limit, key: () => 'ada' }), settings);
    return () => guard.check(new Request('https://api.example/'));
  },
  'the pause of a shaper'() {
    const shaper = createShaper({ name: 'calls', limit: 1, window: '1h' });
    return () => shaper.pause('ada', '1m');
  },
  'a shaper that is full'() {
    const shaper = createShaper({ name: 'calls', limit: 1, window: '1h', maxWait: '1ms' });
    return () => shaper.schedule('ada', () => undefined).catch(() => undefined);
  },
  'what a shaper tells'() {
    const shaper = createShaper({ name: 'calls', limit: 1, window: '1h', maxWait: '1ms' });
    return async () => {
      await shaper.reserve('ada');
      await shaper.reserveFirst(['ada', 'bob']);
      await shaper.waitOf('ada');
      await shaper.pauseOf('ada');
    };
  },
};

describe.each(Object.entries(LOOPS))('%s', (_, loop) => {
  it('lets timers fire', async () => {
    const ask = loop();
    await turnsUntilTimer(ask);
    // Also in the middle of it, when all is known.
    expect(await turnsUntilTimer(ask)).toBeGreaterThan(0);
  });
});

it('finds out that the store is back', async () => {
  const state = store();
  const limiter = createLimiter(limit, { ...settings, store: state.remote });
  await limiter.consume('ada');
  state.isUp = true;
  let turns = 0;
  while ((await limiter.consume('ada')).outcome === 'error') {
    turns += 1;
    if (turns > 1_000_000) throw new Error('never');
  }
  expect(turns).toBeGreaterThan(0);
});
