/** Limits on distinct items, as apps ask for them. */

import {
  calendar,
  createGuard,
  createLimiter,
  createLimiters,
  type Decision,
  distinct,
  type Fault,
  fixedWindow,
  type Items,
  memoryControl,
  memoryStore,
  type RateLimitOptions,
  rateLimit,
  rateLimitHeaders,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { distantStore } from '../distant-store.js';

const HOUR_MS = 3_600_000;
const algorithm = distinct();
const note = { by: 'ada', because: 'a test' };

function cards(limit = 3) {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const control = memoryControl({ clock });
  const faults: Fault[] = [];
  const settings = { store, control, onFault: (fault: Fault) => void faults.push(fault) };
  const limiter = createLimiter({ name: 'cards', limit, window: '1h', algorithm }, settings);
  const touch = (item: Items): Decision => limiter.consume('ada', { item });
  return { clock, store, control, faults, limiter, touch };
}

/** A limiter over a store that may go down. */
function distant() {
  const clock = new ManualClock();
  const { store, down, calls } = distantStore(clock);
  const options = { name: 'cards', limit: 2, window: '1h', algorithm } as const;
  const settings = { store, clock, logger: false, onFault: () => undefined } as const;
  return { clock, down, calls, settings, limiter: createLimiter(options, settings) };
}

describe('a limit on different things', () => {
  it('admits at most so many in a window, and repeats of them', () => {
    const { touch } = cards();
    expect(touch('a')).toMatchObject({ allowed: true, cost: 1, used: 1, remaining: 2 });
    expect(['a', 'b', 'c', 'd', 'b'].map((item) => touch(item).allowed)).toEqual([
      true,
      true,
      true,
      false,
      true,
    ]);
    expect(touch('d')).toMatchObject({ outcome: 'denied', reason: 'rate', used: 3, remaining: 0 });
  });

  it('takes about as long to repeat 100 things as to reject 100', () => {
    const { touch } = cards(10_000);
    const hundred = (from: number) => Array.from({ length: 100 }, (_, at) => from + at);
    for (let from = 0; from < 10_000; from += 100) touch(hundred(from));
    const shortest = (run: (at: number) => unknown) => {
      const ms = Array.from({ length: 25 }, (_, at) => {
        const start = performance.now();
        run(at);
        return performance.now() - start;
      });
      return Math.min(...ms);
    };
    const rejected = shortest(() => touch(hundred(10_000)));
    const repeated = shortest((at) => touch(hundred(at * 100)));
    expect(repeated).toBeLessThan(8 * rejected);
  });

  it('counts a thing for one window from the request that added it, whatever repeats it', () => {
    const { clock, touch } = cards(1);
    touch('a');
    clock.advance('59m');
    expect(touch('a')).toMatchObject({ allowed: true, resetMs: HOUR_MS / 60 });
    expect(touch('b')).toMatchObject({ allowed: false, retryAfterMs: HOUR_MS / 60 });
    clock.advance(HOUR_MS / 60 - 0.001);
    expect(touch('b')).toMatchObject({ allowed: false, retryAfterMs: 0.001 });
    clock.advance(0.001);
    expect(touch('b').allowed).toBe(true);
    expect(touch('a').allowed).toBe(false);
  });

  it('adds all things of a request, or none', () => {
    const { touch } = cards();
    expect(touch(['a', 'b', 'a', null, undefined])).toMatchObject({ cost: 2, used: 2 });
    expect(touch(['c', 'd'])).toMatchObject({ allowed: false, used: 2 });
    expect(touch(['b', 'c'])).toMatchObject({ allowed: true, used: 3 });
    expect(touch(['a', 'b', 'c', 'd'])).toMatchObject({ reason: 'never', retryAfterMs: Infinity });
  });

  it.each([undefined, null, [], [undefined, null]])('counts nothing for %j', (item) => {
    const { faults, touch } = cards(1);
    touch('a');
    expect(touch(item)).toMatchObject({ allowed: true, cost: 0, used: 1 });
    expect(faults).toEqual([]);
  });

  it('makes room in memory when things leave', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock, maxEntries: 6 });
    const limiter = createLimiter({ name: 'cards', limit: 2, window: '1h', algorithm }, { store });
    for (let round = 0; round < 9; round += 1) {
      for (const key of ['a', 'b', 'c']) limiter.consume(`${round} ${key}`, { item: ['x', 'y'] });
      expect(store.size).toBe(6);
      clock.advance('1h');
    }
    expect(store.overflowed).toBe(0);
  });

  it('is not later for keys that share a count in a full store', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock, maxEntries: 1 });
    createLimiter({ name: 'old', limit: 1, window: '1d' }, { store }).consume('ada');
    const limiter = createLimiter({ name: 'new', limit: 1, window: '1h', algorithm }, { store });
    for (let i = 0; i < 4_000; i += 1) limiter.consume(`other ${i}`, { item: 'x' });
    clock.advance('59m');
    const early = limiter.consume('ada', { item: 'x' }).allowed;
    clock.advance('1m');
    expect(early && limiter.consume('ada', { item: 'y' }).allowed).toBe(false);
    expect(limiter.consume('ada', { item: 'x' }).allowed).toBe(true);
    expect(limiter.consume('ada', { item: 'x' }).allowed).toBe(true);
    expect(limiter.consume('ada', { item: 'y' }).allowed).toBe(false);
  });

  it('waits until enough things have left that are not of the request', () => {
    const { clock, touch } = cards();
    for (const item of ['a', 'b', 'c']) {
      touch(item);
      clock.advance('1m');
    }
    // `a` expires first, but is needed again.
    expect(touch(['a', 'd']).retryAfterMs).toBe(HOUR_MS - 2 * 60_000);
    expect(touch(['d', 'e']).retryAfterMs).toBe(HOUR_MS - 2 * 60_000);
    expect(touch('d').retryAfterMs).toBe(HOUR_MS - 3 * 60_000);
  });

  it('refunds a thing that nobody else has repeated', () => {
    const { limiter, touch } = cards();
    const [a, b] = [touch('a'), touch(['a', 'b'])];
    expect(limiter.refund(a)).toBe(false); // the other request uses the item too
    expect(limiter.refund(b)).toBe(true);
    expect(limiter.refund(b)).toBe(false);
    expect(limiter.peek('ada').used).toBe(1);
    expect(touch('a').used).toBe(1);
  });

  it('refunds nothing that another request has added since', () => {
    const { clock, limiter, touch } = cards();
    const first = touch('a');
    clock.advance('1h');
    touch('a');
    expect(limiter.refund(first)).toBe(false);
    expect(limiter.peek('ada').used).toBe(1);
  });

  it('keeps things when the limit is lowered or multiplied live, and while a key has its own', () => {
    const { control, touch } = cards(4);
    touch(['a', 'b', 'c']);
    control.set('cards', { limits: { limit: 1 } }, note);
    expect(touch(['a', 'b', 'c'])).toMatchObject({ allowed: true, used: 3, retryAfterMs: 0 });
    expect(touch('d')).toMatchObject({ allowed: false, used: 3, remaining: 0 });
    control.set('cards', { limits: { factor: 2 } }, note);
    expect(touch('d')).toMatchObject({ allowed: true, remaining: 4 });
    control.limitKey('cards', 'ada', { limit: 4 }, note);
    expect(touch('e').allowed).toBe(false);
  });

  it('multiplies the limit live up to the highest', () => {
    const { control, faults, touch } = cards(6_000);
    control.set('cards', { limits: { factor: 2 } }, note);
    expect(touch('a')).toMatchObject({ remaining: 9_999 });
    expect(faults).toEqual([]);
  });

  it('applies the numbers of a plan, and keeps things across plans', () => {
    const { limiter } = cards(1);
    const touch = (item: string, limit: number) =>
      limiter.consume('ada', { item, plan: { limit } }).allowed;
    expect(touch('a', 2)).toBe(true);
    expect(touch('b', 1)).toBe(false);
    expect(touch('b', 2)).toBe(true);
    expect(limiter.peek('ada').used).toBe(2);
  });

  it('records things that do not pass in place of the oldest', () => {
    const { limiter, touch } = cards(2);
    touch(['a', 'b']);
    expect(limiter.record('ada', { item: 'c' }).allowed).toBe(false);
    expect(limiter.peek('ada').used).toBe(2);
    expect(limiter.peek('ada', { item: ['b', 'c'] }).allowed).toBe(true);
    expect(limiter.peek('ada', { item: 'a' }).allowed).toBe(false);
  });

  it('forgets the things of a key that is reset', () => {
    const { limiter, touch } = cards(1);
    touch('a');
    expect(limiter.reset('ada')).toBe(true);
    expect(touch('b').allowed).toBe(true);
  });

  it('shows how many are counted, or whether some would pass', () => {
    const { faults, limiter, touch } = cards(1);
    touch('a');
    expect(limiter.peek('ada')).toMatchObject({ allowed: true, cost: 0, used: 1, remaining: 0 });
    expect(limiter.peek('ada', { item: 'b' }).allowed).toBe(false);
    expect(limiter.peek('eve', { item: 'b' }).used).toBe(0);
    expect(faults).toEqual([]);
  });

  it('counts one thing for several keys, each for itself', () => {
    const { limiter } = cards(1);
    limiter.consume('ada', { item: 'a' });
    const { allowed, decisions } = limiter.consumeAll(['ada', 'eve', 'eve'], { item: 'b' });
    expect(allowed).toBe(false);
    expect(decisions.map((decision) => decision.allowed)).toEqual([false, true, true]);
    expect(limiter.consumeAll(['ada', 'eve'], { item: 'a' }).allowed).toBe(true);
  });

  it('decides together with other limits, by name', () => {
    const clock = new ManualClock();
    const limits = {
      cards: { limit: 1, window: '1h', algorithm },
      all: { limit: 2, window: '1h' },
    };
    const limiters = createLimiters(limits, { store: memoryStore({ clock }) });
    const touch = (item: string) =>
      limiters.consume({ cards: 'ada', all: 'ada' }, { item: { cards: item } });
    expect(touch('a').allowed).toBe(true);
    expect(touch('b').decisions).toMatchObject({
      all: { remaining: 1 },
      cards: { allowed: false },
    });
    expect(touch('a').allowed).toBe(true);
    expect(touch('a').decisions).toMatchObject({ all: { allowed: false }, cards: { used: 1 } });
    expect(() => limiters.consume({ all: 'ada' }, { item: { cards: 'a' } as object })).toThrow(
      'item must be for limits in this call (all)',
    );
  });

  it.each([
    [{ burst: 3 }, 'burst must be left out for distinct'],
    [{ anchor: 'epoch' }, 'anchor must be left out for distinct'],
    [{ overage: 'allow' }, 'overage must be left out for distinct'],
    [{ window: calendar('day') }, 'algorithm, burst and anchor must be left out beside calendar()'],
    [{ limit: 10_001 }, 'limit must be at most 10,000 for distinct'],
    [{ cost: 1 }, 'cost must be left out for distinct'],
    [{ cost: () => 1 }, 'cost must be left out for distinct'],
  ] as const)('rejects %j', (other, message) => {
    const options = { limit: 3, window: '1h', algorithm, ...other } as RateLimitOptions;
    expect(() => rateLimit(options)).toThrow(message);
    if ('cost' in other) return;
    expect(() => createLimiter(options as never)).toThrow(message);
  });

  it('rejects a cost in a call, and a function that is none', () => {
    const { limiter } = cards();
    const message = 'cost must be left out for distinct, got 2';
    expect(() => limiter.consume('ada', { item: 'a', cost: 2 })).toThrow(message);
    expect(() => limiter.consumeAll(['ada'], { item: 'a', cost: 2 })).toThrow(message);
    expect(() => distinct('id' as never)).toThrow('itemOf must be a function');
  });
});

describe('the headers of a limit on different things', () => {
  it.each([
    [
      'draft-11 states no wrong time',
      'draft-11',
      'RateLimit',
      '"cards";r=1;t=3600',
      '"cards";r=0',
      '"cards";r=0;t=3540',
    ],
    ['draft-6 says when all are gone', 'draft-6', 'RateLimit-Reset', '3600', '3600', '3540'],
  ] as const)('promise no new thing too early, and %s', (_, style, name, ...values) => {
    const clock = new ManualClock();
    const limits = createLimiters(
      { cards: { limit: 2, window: '1h', algorithm } },
      { store: memoryStore({ clock }), headers: rateLimitHeaders([style]) },
    );
    const header = (item: string) => {
      const { headers } = limits.consume({ cards: 'ada' }, { item: { cards: item } });
      return Object.fromEntries(headers)[name];
    };
    const [one, full, rejected] = values;
    expect(header('a')).toBe(one);
    clock.advance('1m');
    expect(header('b')).toBe(full); // a new item passes in 59 minutes, a repeat at once
    expect(header('a')).toBe(full);
    expect(header('c')).toBe(rejected);
  });

  it('state a time for what is rejected, also if its item was recorded', () => {
    const limits = createLimiters(
      { cards: { limit: 1, window: '1h', algorithm } },
      { store: memoryStore({ clock: new ManualClock() }), headers: rateLimitHeaders(['draft-11']) },
    );
    limits.consume({ cards: 'ada' }, { item: { cards: 'a' } });
    const { allowed, headers } = limits.record({ cards: 'ada' }, { item: { cards: 'b' } });
    expect(allowed).toBe(false);
    expect(Object.fromEntries(headers)['RateLimit']).toBe('"cards";r=0;t=1'); // a repeat passes
  });
});

describe('hostile things', () => {
  it('are told apart by each UTF-16 unit and by type', () => {
    const { touch } = cards(20);
    const strange = ['\ud800', '\udbff', '\ufffd', '', '__proto__', 'constructor'];
    const things = [...strange, '5', 5, 5n, 'n5', 'a', 'š']; // the low bytes of `a` and `š` are equal
    for (const [at, item] of things.entries()) expect(touch(item).used).toBe(at + 1);
    for (const item of things) expect(touch(item).used).toBe(things.length);
    expect(touch(-0).used).toBe(touch(0).used);
  });

  it('take 23 bytes each, however long they are', () => {
    const { store, touch } = cards(10);
    const megabyte = 'x'.repeat(2 ** 20);
    expect([`${megabyte}a`, `${megabyte}b`, `${megabyte}a`].map((one) => touch(one).used)).toEqual([
      1, 2, 2,
    ]);
    expect(store.size).toBe(2);
  });

  it('are at most 100 in a request', () => {
    const { store, touch } = cards(1_000);
    const many = (count: number) => Array.from({ length: count }, (_, at) => at);
    expect(touch(many(100))).toMatchObject({ allowed: true, used: 100 });
    expect(touch(many(10_000))).toMatchObject({ reason: 'never', cost: 101, used: 100 });
    expect(touch(many(101)).allowed).toBe(false);
    expect(touch(Array(10_000).fill(7))).toMatchObject({ allowed: true, cost: 1 });
    expect(touch(Array(2 ** 32 - 1))).toMatchObject({ reason: 'never' }); // and is not read
    expect(store.size).toBe(100);
  });

  it('are all one thing if they are neither text nor number, and a fault', () => {
    const { faults, touch } = cards(1);
    const junk = [{ $ne: '' }, true, ['nested'], [[]], Symbol('x')] as never[];
    for (const item of junk) expect(touch([item])).toMatchObject({ allowed: true, used: 1 });
    expect(touch('a').allowed).toBe(false);
    expect(faults.map(({ source }) => source)).toEqual(junk.map(() => 'item'));
    expect(String(faults[0]?.error)).toContain('item of limiter "cards" returned [object Object]');
  });

  it('are one unknown thing if a call names none', () => {
    const { faults, limiter } = cards(1);
    for (const _ of 'ab') expect(limiter.consume('ada')).toMatchObject({ allowed: true, used: 1 });
    expect(faults).toHaveLength(2);
  });
});

describe('different things in a guard', () => {
  const ofQuery = distinct(({ raw }) => (raw as { item?: Items }).item);
  const options = { name: 'cards', limit: 1, window: '1h', algorithm: ofQuery } as const;
  const asked = (item?: unknown) => request({ raw: { item } });

  it('are found by a function of the request', async () => {
    const guard = createGuard([rateLimit(options)]);
    const admits = async (item?: unknown) => (await guard.admit(asked(item))).allowed;
    expect(await admits('a')).toBe(true);
    expect(await admits('b')).toBe(false);
    expect(await admits('a')).toBe(true);
    expect(await admits()).toBe(true);
  });

  it('may be found later', async () => {
    const guard = createGuard([rateLimit({ ...options, algorithm: distinct(async () => 'a') })]);
    for (const _ of 'ab') expect((await guard.admit(request())).decisions[0]?.used).toBe(1);
  });

  it.each([
    () => {
      throw new Error('no');
    },
    () => Promise.reject(new Error('no')),
  ])('are one unknown thing if it fails', async (fails) => {
    const faults: Fault[] = [];
    const limiter = rateLimit({ ...options, algorithm: distinct(fails) });
    const guard = createGuard([limiter], { onFault: (fault) => void faults.push(fault) });
    for (const _ of 'ab') expect((await guard.admit(request())).decisions[0]?.used).toBe(1);
    expect(faults[0]).toMatchObject({ source: 'item', limiter: 'cards' });
  });

  it('are not added by a request that another limit rejects, or that is in shadow and does not pass', async () => {
    const store = memoryStore({ clock: new ManualClock() });
    const other = rateLimit({ name: 'other', limit: 1, window: '1h', algorithm: fixedWindow });
    const guard = createGuard([rateLimit(options), other], { store });
    await guard.admit(asked('a'));
    expect((await guard.admit(asked('a'))).decisions[0]).toMatchObject({ used: 1 });
    const shadow = createGuard([rateLimit({ ...options, mode: 'shadow' })], { store });
    const { allowed, decisions } = await shadow.admit(asked('b'));
    expect([allowed, decisions[0]?.outcome, decisions[0]?.used]).toEqual([true, 'would-deny', 1]);
  });

  it('are refunded by refundIf, unless repeated', async () => {
    const refundIf = () => true;
    const guard = createGuard([rateLimit({ ...options, limit: 3, refundIf })]);
    const first = await guard.admit(asked('a'));
    await (await guard.admit(asked(['a', 'b']))).release({ status: 200 });
    await first.release({ status: 200 });
    expect((await guard.admit(asked('a'))).decisions[0]?.used).toBe(1);
  });
});

describe('different things in a store behind a network', () => {
  it('pass when they are repeated, also after a rejection', async () => {
    const { limiter } = distant();
    await limiter.consume('ada', { item: ['a', 'b'] });
    for (const item of ['c', 'a', 'c', 'b']) {
      expect((await limiter.consume('ada', { item })).allowed).toBe(item !== 'c');
    }
  });

  it('go on in a set of the process while the store is down', async () => {
    const { down, limiter } = distant();
    await limiter.consume('ada', { item: 'a' });
    down();
    const touched = async (item: string) => {
      const { outcome, allowed, used } = await limiter.consume('ada', { item });
      return [outcome, allowed, used];
    };
    expect(await touched('a')).toEqual(['error', true, 1]);
    expect(await touched('b')).toEqual(['error', true, 2]);
    expect(await touched('c')).toEqual(['error', false, 2]);
    expect(await touched('b')).toEqual(['error', true, 2]);
  });

  it('count for longer in a process with a share of the limit', async () => {
    const { clock, down, settings } = distant();
    const limiter = createLimiter(
      { name: 'half', limit: 1, window: '1h', algorithm },
      { ...settings, localShare: 0.5 },
    );
    down();
    await limiter.consume('ada', { item: 'a' });
    clock.advance('1h');
    const { allowed, retryAfterMs } = await limiter.consume('ada', { item: 'b' });
    expect([allowed, retryAfterMs]).toEqual([false, HOUR_MS]);
  });

  it('are refunded in that set, too', async () => {
    const { down, limiter } = distant();
    const first = await limiter.consume('ada', { item: 'a' });
    await limiter.refund(first);
    down();
    expect(await limiter.consume('ada', { item: ['b', 'c'] })).toMatchObject({ allowed: true });
  });
});
