/** A cache for values that callbacks load: fresh, stale, failing, slow, flooded, invalidated. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { type CachedOptions, cached, createGuard, rateLimit } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { pick, seeded } from './net/random.js';

interface TableOptions extends CachedOptions {
  /** What the table answers or throws at once for a key; undefined if it answers later. */
  readonly atOnce?: (key: string) => unknown;
}

/** A table that answers when the test says so. */
function table({ atOnce, ...options }: TableOptions = {}) {
  const clock = new ManualClock();
  const asked: string[] = [];
  const open: { key: string; answer(value: unknown): void; fail(error: Error): void }[] = [];
  const get = cached(
    (key: string) => {
      asked.push(key);
      const known = atOnce?.(key);
      if (known !== undefined) return known;
      return new Promise<unknown>((resolve, reject) => {
        open.push({ key, answer: resolve, fail: reject });
      });
    },
    { clock, ...options },
  );
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const answer = async (value: unknown) => {
    open.shift()?.answer(value);
    await settle();
  };
  const fail = async (message = 'down') => {
    open.shift()?.fail(new Error(message));
    await settle();
  };
  /** Has a value kept now. */
  const keep = async (key: string, value: unknown) => {
    const told = get(key);
    await answer(value);
    expect(await told).toBe(value);
  };
  return { clock, get, asked, open, answer, fail, keep };
}

describe('a value', () => {
  it('is loaded once for all that ask meanwhile, and then answered at once until ttl', async () => {
    const { clock, get, asked, answer } = table();
    const told = [get('acme'), get('acme'), get('acme')];
    await answer(500);
    expect(await Promise.all(told)).toEqual([500, 500, 500]);
    clock.advance(29_999);
    expect(get('acme')).toBe(500);
    expect(asked).toEqual(['acme']);
  });

  it('is as old as the begin of its load', async () => {
    const { clock, get, asked, answer } = table({ ttl: '1s' });
    const told = get('acme');
    clock.advance(900);
    await answer(500);
    await told;
    clock.advance(100);
    get('acme');
    expect(asked).toHaveLength(2);
  });

  it('is given while it is loaded again in the background, once', async () => {
    const { clock, get, asked, answer, keep } = table();
    await keep('acme', 500);
    clock.advance(30_000);
    expect([get('acme'), get('acme')]).toEqual([500, 500]);
    expect(asked).toEqual(['acme', 'acme']);
    await answer(900);
    expect(get('acme')).toBe(900);
  });

  it('is given for staleFor while it cannot be loaded, which is tried each second; then callers get the error', async () => {
    const { clock, get, asked, fail, answer, keep } = table({ ttl: '30s', staleFor: '5m' });
    await keep('acme', 500);
    clock.advance(30_000);
    for (let second = 0; second < 300; second += 1) {
      expect(get('acme')).toBe(500);
      await fail();
      expect(get('acme')).toBe(500);
      clock.advance(1_000);
    }
    expect(asked).toHaveLength(301);
    const told = expect(get('acme')).rejects.toThrow('still down');
    await fail('still down');
    await told;
    await expect(get('acme')).rejects.toThrow('still down');
    expect(asked).toHaveLength(302);
    clock.advance(1_000);
    const back = get('acme');
    await answer(900);
    expect(await back).toBe(900);
  });

  it('may be undefined, and is kept as that for its key alone', async () => {
    const { get, asked, keep } = table();
    await keep('eve', undefined);
    expect(get('eve')).toBeUndefined();
    void get('bob');
    expect(asked).toEqual(['eve', 'bob']);
  });

  it('may be loaded at once', () => {
    const load = vi.fn((key: string) => key.length);
    const get = cached(load, { clock: new ManualClock() });
    expect([get('acme'), get('acme'), get('bob')]).toEqual([4, 4, 3]);
    expect(load).toHaveBeenCalledTimes(2);
  });

  it('whose load throws is that of a load that rejects', async () => {
    const load = vi.fn(() => {
      throw new Error('no');
    });
    const get = cached(load, { clock: new ManualClock() });
    await expect(get('acme')).rejects.toThrow('no');
    await expect(get('acme')).rejects.toThrow('no');
    expect(load).toHaveBeenCalledTimes(1);
  });
});

describe('invalidate', () => {
  it('has the key loaded again, and no load that had begun before is kept', async () => {
    const { get, asked, open, answer, keep } = table();
    await keep('acme', 500);
    get.invalidate('acme');
    const told = get('acme');
    get.invalidate('acme');
    const newer = get('acme');
    expect(asked).toHaveLength(3);
    open.reverse();
    await answer(900);
    await answer(600);
    expect(await Promise.all([told, newer])).toEqual([600, 900]);
    expect(get('acme')).toBe(900);
  });

  it('of all keys', async () => {
    const { get, asked, keep } = table();
    await keep('acme', 500);
    await keep('umbrella', 100);
    get.invalidateAll();
    void get('acme');
    void get('umbrella');
    expect(asked).toHaveLength(4);
  });
});

describe('loads', () => {
  it('run at most 8 at a time, the others in turn', async () => {
    const { get, asked, answer } = table();
    const told = Array.from({ length: 20 }, (_, at) => get(`key ${at}`));
    expect(asked).toHaveLength(8);
    for (let at = 0; at < 20; at += 1) {
      await answer(at);
      expect(asked).toHaveLength(Math.min(9 + at, 20));
    }
    expect(await Promise.all(told)).toEqual(Array.from({ length: 20 }, (_, at) => at));
  });

  it('that end at once let the next one begin', async () => {
    const { get, asked, answer } = table({
      concurrent: 1,
      atOnce: (key) => {
        if (key === 'broken') throw new Error('no');
        return key === 'slow' ? undefined : `of ${key}`;
      },
    });
    const told = ['slow', 'a', 'broken', 'b'].map((key) => Promise.resolve(get(key)));
    const ends = Promise.allSettled(told);
    await answer(1);
    expect(asked).toEqual(['slow', 'a', 'broken', 'b']);
    const values = (await ends).map((end) => ('value' in end ? end.value : end.reason.message));
    expect(values).toEqual([1, 'of a', 'no', 'of b']);
  });

  it('of which too many wait are refused, and those that wait go on', async () => {
    const { get, answer } = table({ max: 4, concurrent: 1 });
    const told = Array.from({ length: 5 }, (_, at) => get(`key ${at}`));
    await expect(get('key 6')).rejects.toThrow('more than 4 keys wait to be loaded');
    for (let at = 0; at < 5; at += 1) await answer(at);
    expect(await Promise.all(told)).toEqual([0, 1, 2, 3, 4]);
  });

  it('do not take the room of a key that has a value', async () => {
    const { clock, get, asked, keep } = table({ concurrent: 1 });
    await keep('acme', 500);
    clock.advance(30_000);
    void get('slow');
    expect(get('acme')).toBe(500);
    expect(asked).toEqual(['acme', 'slow']);
  });

  it('that take longer than 5 s have failed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { get, answer } = table({ concurrent: 1 });
      const told = Promise.resolve(get('acme')).catch((error: Error) => error.message);
      const next = get('bob');
      vi.advanceTimersByTime(5_000);
      await new Promise((resolve) => setImmediate(resolve));
      await answer('too late');
      expect(await told).toBe('no answer within 5000 ms');
      await answer(7);
      expect(await next).toBe(7);
    } finally {
      vi.useRealTimers();
    }
  });

  it('that are never heard of, as on Workers, do not block their key or others', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { clock, get, asked } = table({ concurrent: 1 });
      void get('acme');
      clock.advance(10_001);
      void get('acme');
      expect(asked).toEqual(['acme', 'acme']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('run outside of the context of the request that asks', async () => {
    const user = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const get = cached(() => seen.push(user.getStore()));
    await user.run('ada', () => get('acme'));
    expect(seen).toEqual([undefined]);
  });
});

describe('memory', () => {
  it('holds at most max keys, and those that are asked for stay', async () => {
    const load = vi.fn((key: string) => key);
    const get = cached(load, { max: 100, clock: new ManualClock() });
    for (let at = 0; at < 10_000; at += 1) {
      void get(`flood ${at}`);
      if (at % 20 === 0) void get('acme');
    }
    expect(load.mock.calls.filter(([key]) => key === 'acme')).toHaveLength(1);
    load.mockClear();
    for (let at = 0; at < 9_900; at += 1) void get(`flood ${at}`);
    expect(load).toHaveBeenCalledTimes(9_900);
  });

  it('agrees with a model, whatever is asked, answered and invalidated', async () => {
    const random = seeded(5);
    for (let run = 0; run < 100; run += 1) {
      const clock = new ManualClock();
      const nowMs = () => clock.nowUs() / 1_000;
      const loads = new Map<string, number[]>();
      const invalidated = new Map<string, number>();
      let isDown = false;
      const get = cached(
        async (key: string) => {
          loads.set(key, [...(loads.get(key) ?? []), nowMs()]);
          if (isDown) throw new Error('down');
          return { key, atMs: nowMs() };
        },
        { clock, ttl: '30s', staleFor: '1m' },
      );
      for (let at = 0; at < 60; at += 1) {
        const key = pick(random, ['a', 'b', 'c']);
        const what = random(10);
        if (what < 3) clock.advance(random(40_000));
        else if (what === 3) isDown = !isDown;
        else if (what === 4 && run % 2 === 0) {
          get.invalidate(key);
          invalidated.set(key, nowMs());
        } else {
          const value = await Promise.resolve(get(key)).catch(() => undefined);
          await new Promise((resolve) => setImmediate(resolve));
          if (value === undefined) {
            expect(isDown || nowMs() - (loads.get(key)?.at(-1) ?? 0) < 1_000).toBe(true);
            continue;
          }
          expect(value.key).toBe(key);
          expect(nowMs() - value.atMs).toBeLessThan(90_000);
          expect(value.atMs).toBeGreaterThanOrEqual(invalidated.get(key) ?? 0);
        }
      }
      if (invalidated.size > 0) continue;
      for (const own of loads.values()) {
        for (let at = 1; at < own.length; at += 1) {
          expect((own[at] as number) - (own[at - 1] as number)).toBeGreaterThanOrEqual(1_000);
        }
      }
    }
  });
});

describe('oldestMs', () => {
  it('is the age of the oldest value given in the last one to two minutes', async () => {
    const { clock, get, fail, keep } = table({ ttl: '10s', staleFor: '10m' });
    await keep('acme', 500);
    expect(get.oldestMs).toBe(0);
    clock.advance(45_000);
    expect(get('acme')).toBe(500);
    expect(get.oldestMs).toBe(45_000);
    await fail();
    await keep('bob', 7);
    clock.advance(60_000);
    expect(get.oldestMs).toBe(45_000);
    clock.advance(120_000);
    expect(get.oldestMs).toBe(0);
  });

  it('is not the age of a value that was replaced at once', () => {
    const { clock, get } = table({ ttl: '10s', staleFor: '10m', atOnce: () => clock.nowUs() });
    get('acme');
    clock.advance(45_000);
    expect(get('acme')).toBe(clock.nowUs());
    expect(get.oldestMs).toBe(0);
  });
});

describe('in a guard', () => {
  it('a table that is down fails no request: the declared limit counts, then the table is used again', async () => {
    const clock = new ManualClock();
    let rows: Map<string, number> | undefined;
    const limitOf = cached(
      async (tenant: string) => {
        if (!rows) throw new Error('down');
        return rows.get(tenant);
      },
      { clock },
    );
    const faults: string[] = [];
    const guard = createGuard(
      rateLimit({
        name: 'tenant',
        window: '1h',
        key: () => 'acme',
        limit: 10,
        plan: async () => ({ limit: (await limitOf('acme')) ?? 5 }),
      }),
      { onFault: ({ source }) => faults.push(source) },
    );
    const limit = async () => (await guard.admit(request())).decisions[0]?.policy?.limit;
    expect(await limit()).toBe(10);
    expect(faults).toEqual(['plan']);
    rows = new Map([['acme', 500]]);
    clock.advance(1_000);
    expect(await limit()).toBe(500);
    rows = undefined;
    clock.advance(60_000);
    expect(await limit()).toBe(500);
    expect(faults).toEqual(['plan']);
  });
});

it.each([
  [{ ttl: '0ms' }, 'ttl must be from 1ms to 24h'],
  [{ staleFor: '8d' }, 'staleFor must be from 0ms to 7d'],
  [{ max: 1 }, 'max must be'],
  [{ concurrent: 0 }, 'concurrent must be'],
  [{ swr: true }, 'has no option "swr"'],
])('throws for wrong options: %j', (options, message) => {
  expect(() => cached(() => 1, options as never)).toThrow(message);
});

it('throws for what is no function, and for what is no key', () => {
  expect(() => cached(undefined as never)).toThrow('load must be a function');
  const get = cached(() => 1);
  expect(() => get('')).toThrow('SPW_KEY_INVALID');
  expect(() => get(undefined as never)).toThrow('SPW_KEY_INVALID');
});
