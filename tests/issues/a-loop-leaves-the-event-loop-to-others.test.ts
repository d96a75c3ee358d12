/**
 * `while (true) await limiter.consume(key)` in an outage: every answer is known at once, so the loop ran on microtasks
 * alone. No timer fired, no socket was read, and nobody could find out that the store was back.
 */

import {
  createGuard,
  createLimiter,
  createLimiters,
  createShaper,
  memoryControl,
  memoryStore,
  rateLimit,
  type Store,
} from '@spillway/core';
import { describe, expect, it } from 'vitest';

/** Enough microtasks for a second or more. */
const MANY = 100_000;

const silent = { logger: false, validate: false } as const;

/** Whether a timer fires while somebody awaits one call after another. */
async function letsTimersFire(call: () => unknown): Promise<boolean> {
  let fired = false;
  setTimeout(() => {
    fired = true;
  }, 1);
  for (let i = 0; i < MANY && !fired; i += 1) {
    try {
      await call();
    } catch {
      // A rejection is an answer, too.
    }
  }
  return fired;
}

const down = (): Store => ({ sync: false, apply: () => Promise.reject(new Error('down')) });

/** Answers later, but without input or output. */
const quick = (): Store => {
  const memory = memoryStore();
  return { sync: false, apply: async (steps) => memory.apply(steps) };
};

const request = {
  method: 'GET',
  path: '/',
  clientIp: '203.0.113.7',
  header: () => undefined,
  raw: undefined,
};

type Calls = Readonly<Record<string, (settings: Settings) => () => unknown>>;
interface Settings {
  readonly store: Store;
  readonly breaker?: false;
  readonly logger: false;
  readonly validate: false;
}

const numbers = { limit: 5, window: '1h' } as const;
const limiterOf = (settings: Settings) => createLimiter({ name: 'a', ...numbers }, settings);
const shaperOf = (settings: Settings) =>
  createShaper(
    { name: 's', limit: 1, window: '1h', maxWait: '1ms' },
    { ...settings, localShare: 1 },
  );

const CALLS: Calls = {
  consume: (settings) => {
    const limiter = limiterOf(settings);
    return () => limiter.consume('key');
  },
  peek: (settings) => {
    const limiter = limiterOf(settings);
    return () => limiter.peek('key');
  },
  consumeAll: (settings) => {
    const limiter = limiterOf(settings);
    return () => limiter.consumeAll(['one', 'other']);
  },
  record: (settings) => {
    const limiter = limiterOf(settings);
    return () => limiter.record('key');
  },
  reset: (settings) => {
    const limiter = limiterOf(settings);
    return () => limiter.reset('key');
  },
  'consume and refund': (settings) => {
    const limiter = limiterOf(settings);
    return async () => limiter.refund(await limiter.consume('key'));
  },
  'consume, each of many limiters in turn': (settings) => {
    const limiters = Array.from({ length: 1_000 }, (_, i) =>
      createLimiter({ name: `a${i}`, ...numbers }, settings),
    );
    let next = 0;
    return () => limiters[next++ % limiters.length]?.consume('key');
  },
  'consume of several': (settings) => {
    const limiters = createLimiters({ a: numbers, b: numbers }, settings);
    return () => limiters.consume({ a: 'key', b: 'key' });
  },
  consumeFirst: (settings) => {
    const limiters = createLimiters({ a: numbers, b: numbers }, settings);
    return () =>
      limiters.consumeFirst([
        { a: 'key', b: 'one' },
        { a: 'key', b: 'other' },
      ]);
  },
  'admit of a guard': (settings) => {
    const guard = createGuard(rateLimit({ name: 'a', ...numbers, key: 'all' }), settings);
    return () => guard.admit(request);
  },
  'admit of a guard that is off': (settings) => {
    const guard = createGuard(rateLimit({ name: 'a', ...numbers, key: 'all' }), {
      ...settings,
      mode: 'off',
    });
    return () => guard.admit(request);
  },
  reserve: (settings) => {
    const shaper = shaperOf(settings);
    return () => shaper.reserve('key');
  },
  reserveFirst: (settings) => {
    const shaper = shaperOf(settings);
    return () => shaper.reserveFirst(['one', 'other']);
  },
  schedule: (settings) => {
    const shaper = shaperOf(settings);
    return () => shaper.schedule('key', () => 'done');
  },
  'schedule with a wrong key': (settings) => {
    const shaper = shaperOf(settings);
    return () => shaper.schedule('', () => 'done');
  },
  waitOf: (settings) => {
    const shaper = shaperOf(settings);
    return () => shaper.waitOf('key');
  },
  pauseOf: (settings) => {
    const shaper = shaperOf(settings);
    return () => shaper.pauseOf('key');
  },
  pause: (settings) => {
    const shaper = shaperOf(settings);
    return () => shaper.pause('key', '1ms');
  },
};

const STORES: readonly [string, () => Omit<Settings, 'logger' | 'validate'>][] = [
  ['is down', () => ({ store: down() })],
  ['is down, without a breaker', () => ({ store: down(), breaker: false })],
  ['answers in microtasks', () => ({ store: quick() })],
];

describe.each(STORES)('with a store that %s', (_, settings) => {
  it.each(Object.entries(CALLS))('timers fire during a loop over %s', async (_, make) => {
    const call = make({ ...settings(), ...silent });
    expect(await letsTimersFire(call)).toBe(true);
  });
});

it.each(
  ['reserve', 'reserveFirst', 'schedule', 'waitOf', 'pauseOf', 'pause'].map(
    (name) => [name, CALLS[name]] as const,
  ),
)('in memory timers fire during a loop over %s', async (_, make) => {
  const call = make?.({ store: memoryStore(), ...silent });
  expect(await letsTimersFire(() => call?.())).toBe(true);
});

it('timers fire while a key that an operator has blocked is asked for', async () => {
  const control = memoryControl();
  const limiter = createLimiter({ name: 'a', ...numbers }, { store: quick(), control, ...silent });
  control.block('a', 'key', { by: 'ada', because: 'a test', for: '10m' });
  expect(await letsTimersFire(() => limiter.consume('key'))).toBe(true);
});

it('finds out that the store is back while it is asked in a loop', async () => {
  const memory = memoryStore();
  let isBack = false;
  const store: Store = {
    sync: false,
    apply: async (steps) => {
      if (!isBack) throw new Error('down');
      return memory.apply(steps);
    },
  };
  const settings = { store, breaker: { failures: 1, probeEvery: '1ms' }, ...silent } as const;
  const limiter = createLimiter({ name: 'a', limit: 1_000_000, window: '1h' }, settings);
  setTimeout(() => {
    isBack = true;
  }, 1);
  let outcome = 'error';
  for (let i = 0; i < MANY && outcome === 'error'; i += 1) {
    outcome = (await limiter.consume('key')).outcome;
  }
  expect(outcome).toBe('allowed');
});

it('gives answers in the order of the questions, also across turns of the event loop', async () => {
  const limiter = limiterOf({ store: down(), ...silent });
  const order: number[] = [];
  await Promise.all(
    Array.from({ length: 20_000 }, async (_, at) => {
      await limiter.consume('key');
      order.push(at);
    }),
  );
  expect(order).toEqual([...order].sort((one, other) => one - other));
});
