/** A store that is sick, not dead: it answers too slowly, or only some calls. Decisions become local until it is well. */

import {
  type BreakerEvent,
  createGuard,
  createLimiter,
  type GuardOptions,
  idempotency,
  memoryStore,
  rateLimit,
  type Store,
} from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { systemClock } from '@spillway/core/store';
import { fakeTime, stall } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';

fakeTime();

function setUp(breaker?: GuardOptions['breaker']) {
  const memory = memoryStore({ clock: systemClock });
  const lines: string[] = [];
  const events: BreakerEvent[] = [];
  const world = {
    /** How long the store takes for its next call, and whether it fails. */
    ms: (): number => 1,
    fails: (): boolean => false,
    calls: 0,
  };
  const store: Store = {
    sync: false,
    label: 'store',
    values: memory.values,
    async apply(steps) {
      world.calls += 1;
      const fails = world.fails();
      await new Promise((resolve) => setTimeout(resolve, world.ms()));
      if (fails) throw new Error('gone');
      return memory.apply(steps);
    },
  };
  const settings = { store, logger: { warn: (line: string) => lines.push(line) }, breaker };
  const limiter = createLimiter({ name: 'api', limit: 1e6, window: '1h' }, settings);
  createGuard(rateLimit({ name: 'seen', limit: 1, window: '1m' }), {
    ...settings,
    observers: [{ onBreaker: (event) => events.push(event) }],
  });
  /** `perSecond` calls for so many seconds, each at its time. How many were decided here, and the time of the first. */
  const run = async (seconds: number, perSecond = 50) => {
    const began = Date.now();
    let local = 0;
    let firstMs: number | undefined;
    for (let i = 0; i < seconds * perSecond; i += 1) {
      void limiter.consume('ada').then(({ outcome }) => {
        if (outcome !== 'error') return;
        local += 1;
        firstMs ??= Date.now() - began;
      });
      await vi.advanceTimersByTimeAsync(1_000 / perSecond);
    }
    return { local, firstMs, all: seconds * perSecond };
  };
  return { world, lines, events, limiter, settings, run };
}

describe('a store that becomes slow', () => {
  it('is not waited for within ten seconds, and again when it is fast', async () => {
    const { world, lines, events, run } = setUp();
    expect(await run(60)).toMatchObject({ local: 0 });
    world.ms = () => 45;
    const { local, firstMs, all } = await run(10);
    expect(firstMs).toBeLessThan(2_000);
    expect(local).toBeGreaterThan(all * 0.8);
    expect(lines).toEqual([
      expect.stringMatching(
        /^Spillway: store does not decide \(\d+ of \d+ calls were slow in 10 s .*\)\. Until it does: api, seen: local\./,
      ),
    ]);
    expect(events).toMatchObject([{ state: 'open', cause: 'slow' }]);
    // It is not asked for decisions, only probed.
    const before = world.calls;
    await run(10);
    expect(world.calls - before).toBeLessThan(101);
    world.ms = () => 1;
    expect((await run(5)).local).toBeLessThan(100);
    expect((await run(5)).local).toBe(0);
    expect(events).toMatchObject([{ state: 'open' }, { state: 'closed' }]);
  });

  it('stays away while only some probes are fast', async () => {
    const { world, events, run } = setUp();
    await run(10);
    world.ms = () => 45;
    await run(10);
    let probes = 0;
    world.ms = () => {
      probes += 1;
      return probes % 4 === 0 ? 45 : 1;
    };
    expect(await run(20)).toMatchObject({ local: 1_000 });
    expect(events).toHaveLength(1);
  });

  it('is asked about claims, which only it knows', async () => {
    const { world, settings, run } = setUp();
    await run(10);
    world.ms = () => 45;
    expect((await run(10)).local).toBeGreaterThan(0);
    const once = idempotency({ name: 'once', scope: () => 'ada' });
    let runs = 0;
    const handler = fetchGuard(once, { ...settings, clientIp: () => '203.0.113.7' }).wrap(
      async () => {
        runs += 1;
        return new Response(`run ${runs}`);
      },
    );
    const post = async () => {
      const headers = { 'idempotency-key': '"k1"' };
      const answer = handler(new Request('http://a.example/', { method: 'POST', headers }));
      await vi.advanceTimersByTimeAsync(500);
      return (await answer).text();
    };
    expect([await post(), await post()]).toEqual(['run 1', 'run 1']);
  });

  it.each([
    ['2ms', 4, true],
    ['100ms', 45, false],
  ])('is measured against `slowAfter`, here %s', async (slowAfter, ms, isSlow) => {
    const { world, run } = setUp({ slowAfter: slowAfter as '2ms' });
    await run(10);
    world.ms = () => ms;
    expect((await run(10)).local > 0).toBe(isSlow);
  });
});

describe('a store that is healthy', () => {
  it.each([
    ['is always far away', () => 30],
    ['was far away from the first call on, and wavers', () => 25 + Math.random() * 9],
    ['becomes slower little by little', (at: number) => 1 + at / 500],
    ['is slow now and then', (at: number) => (at % 12 === 0 ? 45 : 1)],
  ])('is asked, though it %s', async (_, took) => {
    const { world, run, events } = setUp();
    let at = 0;
    world.ms = () => {
      at += 1;
      return took(at);
    };
    expect(await run(120)).toMatchObject({ local: 0 });
    expect(events).toEqual([]);
  });

  it('is asked, though for a moment all calls were slow', async () => {
    const { world, run } = setUp();
    await run(30, 500);
    world.ms = () => 40;
    await run(0.1, 500);
    world.ms = () => 1;
    expect(await run(30, 500)).toMatchObject({ local: 0 });
  });

  it('is asked, though few calls are made and half of them are slow', async () => {
    const { world, run } = setUp();
    await run(60, 1);
    let at = 0;
    world.ms = () => {
      at += 1;
      return at % 2 === 0 ? 45 : 1;
    };
    expect(await run(120, 1)).toMatchObject({ local: 0 });
  });

  it('is asked, though this process stands still again and again', async () => {
    const { limiter, run, events } = setUp();
    await run(60);
    for (let i = 1; i <= 100; i += 1) {
      const asked = Array.from({ length: 50 }, () => limiter.consume('ada'));
      // The clock goes on, and neither timers nor replies are handled meanwhile.
      stall(40 * i);
      await vi.advanceTimersByTimeAsync(20);
      const outcomes = (await Promise.all(asked)).map(({ outcome }) => outcome);
      expect(new Set(outcomes)).toEqual(new Set(['allowed']));
    }
    expect(events).toEqual([]);
  });
});

describe('a store that answers only some calls', () => {
  it.each([
    ['every other call fails', (at: number) => at % 2 === 0, true],
    ['every third call fails', (at: number) => at % 3 === 0, true],
    ['every tenth call fails', (at: number) => at % 10 === 0, false],
  ])('%s', async (_, fails, isSick) => {
    const { world, run, events, lines } = setUp();
    await run(10);
    let at = 0;
    world.fails = () => {
      at += 1;
      return fails(at);
    };
    await run(30);
    const { local, all } = await run(10);
    if (isSick) {
      expect(local).toBeGreaterThan(all * 0.9);
      expect(events[0]).toMatchObject({ state: 'open', cause: 'failing' });
      expect(lines[0]).toMatch(/calls failed in 10 s/);
    } else {
      expect(events).toEqual([]);
    }
    world.fails = () => false;
    await run(5);
    expect((await run(5)).local).toBe(0);
  });
});
