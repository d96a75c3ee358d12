/** A store that is slow or flaky, but not down: it answers late, or every other call fails. */

import {
  type Answer,
  type BreakerEvent,
  concurrencyLimit,
  createGuard,
  createLimiter,
  type Decision,
  type GuardOptions,
  idempotency,
  memoryStore,
  rateLimit,
  type Step,
  type Store,
} from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { remoteStore } from '@spillway/core/store';
import { createShaper } from '@spillway/outgoing';
import { fakeTime, request, seeded, stall } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { PROBE } from './breaker-set-up.js';

fakeTime();

/** Answers after the `delayMs` of the key's first letter, or of all; fails as `fails` says. */
class Sick implements Store {
  readonly sync = false;
  readonly asked: Step[] = [];
  delayMs = 1;
  /** How much longer a group takes for each of its steps. */
  stepMs = 0;
  readonly delays = new Map<string, number>();
  fails: () => boolean = () => false;
  private readonly memory = memoryStore();
  readonly values = this.memory.values;

  domainOf({ key }: Step): string {
    return this.delays.size > 0 ? key.charAt(0) : '';
  }

  async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    this.asked.push(...steps);
    const fails = this.fails();
    const delayMs = this.delays.get(steps[0]?.key.charAt(0) ?? '') ?? this.delayMs;
    await new Promise((resolve) => setTimeout(resolve, delayMs + this.stepMs * steps.length));
    if (fails) throw new Error('connection lost');
    return this.memory.apply(steps);
  }

  count(limiter: string): number {
    return this.asked.filter((step) => step.limiter === limiter).length;
  }
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

function setUp(breaker: GuardOptions['breaker'] = {}) {
  const store = remoteStore(new Sick());
  const lines: string[] = [];
  const events: BreakerEvent[] = [];
  const logger = { warn: (line: string) => void lines.push(line) };
  createGuard(rateLimit({ name: 'watcher', limit: 1, window: '1h', mode: 'off' }), {
    store,
    breaker,
    logger: false,
    observers: [{ onBreaker: (event) => void events.push(event) }],
  });
  const limiter = createLimiter(
    { name: 'api', limit: 1_000_000, window: '1h' },
    { store, logger, breaker },
  );
  /** Calls at an even pace. Returns how many of them the store did not decide. */
  const traffic = async (seconds: number, perSecond: number, key = 'ada') => {
    const made: Promise<Decision>[] = [];
    for (let i = 0; i < seconds * perSecond; i += 1) {
      made.push(limiter.consume(key));
      await pass(1_000 / perSecond);
    }
    await pass(100);
    const decisions = await Promise.all(made);
    return decisions.filter(({ outcome }) => outcome === 'error').length;
  };
  return { store, lines, events, limiter, logger, traffic };
}

const slowAfter = { slowAfter: '20ms' } as const;

describe('a store that answers late', () => {
  it('is not waited for after three seconds, and a line says why and what decides', async () => {
    const { store, lines, events, traffic } = setUp(slowAfter);
    expect(await traffic(60, 20)).toBe(0);
    store.delayMs = 45;
    expect(await traffic(2, 20)).toBe(0);
    expect(await traffic(20, 20)).toBeGreaterThan(370);
    expect(lines).toEqual([
      expect.stringMatching(
        /^Spillway: the store is slow \(\d+ of \d+ calls in 10 s took longer than 20 ms \(SPW_STORE_UNAVAILABLE\)\)\. Meanwhile: watcher, api: local\. See /,
      ),
    ]);
    expect(events).toEqual([
      {
        state: 'open',
        reason: 'slow',
        openMs: 0,
        error: expect.objectContaining({ kind: 'slow' }),
      },
    ]);
  });

  it.each([
    ['for two seconds: a pause', 2, 20],
    ['in fewer than 20 calls in 10 s', 60, 1.9],
  ])('is waited for if it does so %s', async (_, seconds, perSecond) => {
    const { store, events, traffic } = setUp(slowAfter);
    store.delayMs = 45;
    expect(await traffic(seconds, perSecond)).toBe(0);
    store.delayMs = 1;
    expect(await traffic(30, 20)).toBe(0);
    expect(events).toEqual([]);
  });

  it.each([
    ['a twelfth', 12, 0],
    ['an eighth', 8, 1],
  ])('for %s of the calls: opened %#', async (_, every, opened) => {
    const { store, events, limiter } = setUp(slowAfter);
    for (let i = 0; i < 1_000; i += 1) {
      store.delayMs = i % every === every - 1 ? 45 : 1;
      void limiter.consume('ada');
      await pass(50);
    }
    expect(events.filter(({ state }) => state === 'open').length > 0).toBe(opened === 1);
  });

  it.each([
    ['which take longer by nature, is healthy', 1, 0],
    ['is noticed if it is slow for these too', 45, 1],
  ])('that is asked for large groups, %s', async (_, laterMs, opened) => {
    const { store, events, limiter } = setUp();
    store.stepMs = 0.13;
    const keys = Array.from({ length: 100 }, (_, at) => `key-${at}`);
    for (let i = 0; i < 1_200; i += 1) {
      if (i === 600) store.delayMs = laterMs;
      void (i > 300 && i % 6 === 0 ? limiter.consumeAll(keys) : limiter.consume('ada'));
      await pass(50);
    }
    expect(events.filter(({ state }) => state === 'open').length > 0).toBe(opened === 1);
  });

  it('is asked again when it has answered in time for 400 ms of probes, not at the first', async () => {
    const { store, lines, events, traffic } = setUp(slowAfter);
    store.delayMs = 45;
    await traffic(5, 20);
    expect(events).toHaveLength(1);
    store.delayMs = 1;
    const { length } = store.asked;
    expect(await traffic(0.2, 20)).toBe(4);
    store.delayMs = 45; // and begins anew
    expect(await traffic(1, 20)).toBe(20);
    store.delayMs = 1;
    expect(await traffic(0.2, 20)).toBe(4);
    await traffic(0.2, 20);
    expect(await traffic(10, 20)).toBe(0);
    expect(events.map(({ state, reason }) => `${state} ${reason}`)).toEqual([
      'open slow',
      'closed slow',
    ]);
    expect(lines.at(-1)).toMatch(/^Spillway: the store works again, after \d\.\d s\.$/);
    const probes = store.asked.slice(length).filter(({ limiter }) => limiter === PROBE);
    expect(probes.length).toBeLessThan(25); // at the pace of probes, regardless of requests
  });

  it('and is slow again as soon as it is asked, is asked half as often each time', async () => {
    const { store, events, limiter } = setUp(slowAfter);
    const { apply } = store;
    // Only under load.
    store.apply = (steps) => {
      store.delayMs = steps[0]?.limiter === PROBE ? 1 : 45;
      return apply.call(store, steps);
    };
    const outcomes: Promise<Decision>[] = [];
    for (let i = 0; i < 100 * 120; i += 1) {
      outcomes.push(limiter.consume('ada'));
      await pass(10);
    }
    await pass(100);
    const late = (await Promise.all(outcomes))
      .slice(1_200)
      .filter(({ outcome }) => outcome !== 'error');
    expect(late.length / 10_800).toBeLessThan(0.03);
    const openMs = events.filter(({ state }) => state === 'closed').map((event) => event.openMs);
    for (const [i, ms] of openMs.entries()) {
      if (i > 0) expect(ms).toBeGreaterThan(Math.min(25_600, 1.5 * (openMs[i - 1] as number)));
    }
    expect(openMs.length).toBeGreaterThan(6);
  }, 30_000);

  it('and comes back from an outage like that is not asked either', async () => {
    const { store, events, lines, traffic } = setUp(slowAfter);
    store.fails = () => true;
    await traffic(5, 20);
    expect(events).toMatchObject([{ reason: 'failures' }]);
    store.fails = () => false;
    store.delayMs = 45;
    expect(await traffic(10, 20)).toBe(200);
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(
        /^Spillway: the store: the store is slow, and its circuit breaker is open /,
      ),
    ]);
    store.delayMs = 1;
    await traffic(1, 20);
    expect(await traffic(5, 20)).toBe(0);
    expect(events.slice(1)).toMatchObject([{ state: 'closed', reason: 'slow' }]);
  });

  it('has a state for each part', async () => {
    const { store, events, traffic } = setUp(slowAfter);
    store.delays.set('b', 45);
    await traffic(5, 20, 'bob');
    expect(events).toMatchObject([{ state: 'open', part: 'b' }]);
    expect(await traffic(5, 20, 'ada')).toBe(0);
    expect(await traffic(5, 20, 'bob')).toBe(100);
  });

  it('may take longer for a large group', async () => {
    const { store, events, limiter } = setUp(slowAfter);
    store.delayMs = 30;
    const keys = Array.from({ length: 700 }, (_, i) => `k${i}`);
    for (let i = 0; i < 100; i += 1) {
      void limiter.consumeAll(keys);
      await pass(100);
    }
    expect(events).toEqual([]);
  });
});

describe('by default, how late is too late', () => {
  it.each([
    ['from 1 to 45 ms', 1, 45, true],
    ['from 1 to 10 ms', 1, 10, false],
    ['30 ms away, always', 30, 30, false],
    ['from 30 to 39 ms', 30, 39, false],
    ['from 30 to 42 ms', 30, 42, true],
    ['from 45 to 1 ms', 45, 1, false],
  ])('follows from what the store took in healthy minutes: %s', async (_, before, after, opens) => {
    const { store, events, traffic } = setUp();
    store.delayMs = before;
    expect(await traffic(65, 20)).toBe(0);
    store.delayMs = after;
    await traffic(5, 20);
    expect(events.map(({ reason }) => reason)).toEqual(opens ? ['slow'] : []);
    if (!opens) expect(await traffic(120, 20)).toBe(0);
  });

  it.each([
    [8, []],
    [12, ['slow']],
  ])('is first learnt from ten seconds: after %i seconds %j', async (seconds, reasons) => {
    const { store, events, traffic } = setUp();
    await traffic(seconds, 20);
    store.delayMs = 45;
    await traffic(5, 20);
    expect(events.map(({ reason }) => reason)).toEqual(reasons);
  });

  it('is learnt although the breaker opens for failures now and then', async () => {
    const { store, events, traffic } = setUp();
    for (let i = 0; i < 20; i += 1) {
      await traffic(3, 20);
      store.fails = () => true;
      await traffic(0.4, 20);
      store.fails = () => false;
    }
    await traffic(2, 20);
    store.delayMs = 45;
    await traffic(5, 20);
    expect(events.at(-1)).toMatchObject({ state: 'open', reason: 'slow' });
  });

  it('is not learnt from a minute in which the breaker opened', async () => {
    const { store, traffic } = setUp();
    await traffic(65, 20);
    store.delayMs = 45;
    expect(await traffic(300, 20)).toBeGreaterThan(5_900);
  });

  it('lets a store be whose calls always differ much, as over HTTP', async () => {
    const { store, events, limiter } = setUp();
    const { uniform } = seeded(7);
    for (let i = 0; i < 6_000; i += 1) {
      store.delayMs = [8, 9, 10, 12, 30][Math.floor(5 * uniform())] as number;
      void limiter.consume('ada');
      await pass(50);
    }
    expect(events).toEqual([]);
  });
});

describe('a store that fails now and then, never five times in a row', () => {
  const failing = async (every: number, calls: number) => {
    const all = setUp();
    let call = 0;
    all.store.fails = () => {
      call += 1;
      return call % every === 0;
    };
    await all.traffic(calls / 10, 10);
    return all;
  };

  it('is not waited for once 20 calls were made and more than a fifth failed', async () => {
    const { events, lines, store } = await failing(2, 20);
    expect(store.count('api')).toBe(20);
    expect(events).toMatchObject([{ state: 'open', reason: 'failures' }]);
    expect(lines[0]).toContain('the store is failing (10 of 20 calls in 10 s failed, the last');
    expect(lines[0]).toContain('with: connection lost');
  });

  it('is asked if a sixth fails', async () => {
    expect((await failing(6, 1_000)).events).toEqual([]);
  });

  it('is asked again only if its probes are answered for 400 ms, not at the first', async () => {
    const { store, events, traffic } = await failing(2, 20);
    expect(await traffic(20, 10)).toBe(200);
    store.fails = () => false;
    await traffic(1, 10);
    expect(await traffic(5, 10)).toBe(0);
    expect(events.map(({ state }) => state)).toEqual(['open', 'closed']);
  });
});

describe('a process whose event loop is blocked, beside a healthy store', () => {
  it.each(['after the call was sent', 'before it was sent'])(
    'does not find it slow: %s',
    async (when) => {
      const { store, events, limiter } = setUp(slowAfter);
      let stalledMs = 0;
      const block = () => {
        stalledMs += 60;
        stall(stalledMs);
      };
      for (let i = 0; i < 600; i += 1) {
        if (when === 'before it was sent') {
          const { apply } = store;
          store.apply = async (steps) => {
            store.apply = apply;
            await pass(1);
            block();
            return apply.call(store, steps);
          };
        }
        const made = limiter.consume('ada');
        if (when !== 'before it was sent') block();
        await pass(3);
        expect((await made).outcome).toBe('allowed');
      }
      expect(events).toEqual([]);
    },
  );

  it('finds it slow if it is, though each turn of the loop takes 5 ms', async () => {
    const { store, events, limiter } = setUp(slowAfter);
    store.delayMs = 9;
    let stalledMs = 0;
    for (let i = 0; i < 1_000 && events.length === 0; i += 1) {
      void limiter.consume('ada');
      await pass(1);
      stalledMs += 4; // nine turns of 5 ms
      stall(stalledMs);
    }
    expect(events).toMatchObject([{ reason: 'slow' }]);
  });
});

describe('while a store is only slow', () => {
  async function slow() {
    const all = setUp(slowAfter);
    all.store.delayMs = 45;
    await all.traffic(5, 20);
    expect(all.events).toHaveLength(1);
    all.store.asked.length = 0;
    return all;
  }

  it.each(['allow', 'deny'] as const)('it is asked for a limiter with %s', async (onStoreError) => {
    const { store, logger } = await slow();
    const own = createLimiter(
      { name: 'own', limit: 2, window: '1h' },
      { store, logger, onStoreError, denialCache: false },
    );
    const made = [own.consume('eve'), own.consume('eve'), own.consume('eve')];
    await pass(100);
    const outcomes = (await Promise.all(made)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['allowed', 'allowed', 'denied']);
  });

  it('units are given back in the store', async () => {
    const { store, logger, events, traffic } = setUp(slowAfter);
    const own = createLimiter({ name: 'own', limit: 2, window: '1h' }, { store, logger });
    const made = own.consume('eve');
    await pass(5);
    const decision = await made;
    store.delayMs = 45;
    await traffic(5, 20);
    expect(events).toHaveLength(1);
    const given = own.refund(decision);
    await pass(100);
    expect(await given).toBe(true);
  });

  it('permits are given back in the store', async () => {
    const { store, logger, events, traffic } = setUp(slowAfter);
    const guard = createGuard(concurrencyLimit({ name: 'now', limit: 2 }), { store, logger });
    const made = guard.admit(request());
    await pass(5);
    const admission = await made;
    store.delayMs = 45;
    await traffic(5, 20);
    expect(events).toHaveLength(1);
    store.asked.length = 0;
    void admission.release({ status: 200 });
    await pass(100);
    expect(store.asked.filter(({ limiter }) => limiter === 'now')).toMatchObject([{ op: 'put' }]);
  });

  it('a shaper has its slots from the store: its jobs wait anyway', async () => {
    const { store, logger } = await slow();
    const settings = { store, logger, localShare: 1 };
    const shaper = createShaper(
      { name: 'mail', limit: 100, window: '1s', maxWait: '1m' },
      settings,
    );
    const done = Promise.all([1, 2, 3].map((job) => shaper.schedule('ada', async () => job)));
    await pass(1_000);
    expect(await done).toEqual([1, 2, 3]);
    expect(store.count('mail')).toBeGreaterThan(0);
  });

  const post = (handler: (request: Request) => unknown, key: string) =>
    handler(
      new Request('http://localhost/', { method: 'POST', headers: { 'Idempotency-Key': key } }),
    ) as Promise<Response>;
  const clientIp = () => '203.0.113.7';

  it('an idempotency key is claimed in the store, beside a limit that would be decided here', async () => {
    const { store, logger } = await slow();
    let runs = 0;
    const handler = fetchGuard(
      [idempotency({ scope: () => 'ada' }), rateLimit({ name: 'beside', limit: 5, window: '1h' })],
      { store, logger, clientIp },
    ).wrap(() => {
      runs += 1;
      return new Response('done');
    });
    for (let i = 0; i < 3; i += 1) {
      const response = post(handler, 'order-17');
      await pass(500);
      expect(await (await response).text()).toBe('done');
    }
    expect(runs).toBe(1);
    expect(store.count('beside')).toBeGreaterThan(0);
  });

  it('and then answers nothing any more, no idempotency key waits for it after five failures', async () => {
    const { store, logger } = await slow();
    const guard = fetchGuard(idempotency({ scope: () => 'ada' }), { store, logger, clientIp });
    const handler = guard.wrap(() => new Response('done'));
    store.fails = () => true;
    for (let i = 0; i < 10; i += 1) {
      const response = post(handler, `order-${i}`);
      await pass(500);
      expect((await response).status).toBe(503);
    }
    const asked = store.asked.filter(({ limiter }) => limiter !== PROBE);
    expect(asked.length).toBeLessThanOrEqual(5);
    expect(asked.length).toBeGreaterThan(0);
  });
});

it.each([0, '0.5ms', '61s', 'soon'])('slowAfter %s is refused', (slowAfter) => {
  const settings = { store: remoteStore(new Sick()), breaker: { slowAfter } };
  expect(() => createLimiter({ name: 'a', limit: 1, window: '1h' }, settings)).toThrow(
    'breaker.slowAfter',
  );
});
