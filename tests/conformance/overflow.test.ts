/**
 * The memory store while it is full and afterwards: keys are limited too early, never too late, and nothing is left
 * behind.
 */

import { type Answer, memoryStore, type Step } from '@spillway/core';
import {
  makeDistinctRule,
  makeLeasesRule,
  makeRule,
  measure,
  type Receipt,
  type Rule,
  receiptFrom,
} from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ALGORITHMS, type RateAlgorithm, rateRule } from '../../packages/conformance/src/rules.js';

const SECOND = 1_000_000;
const HOUR = 3_600 * SECOND;
const SHARED = 1_024;
function step(op: Step['op'], key: string, rule: Rule, other: Partial<Step> = {}): Step {
  return { op, limiter: 'api', key, rule, cost: 1, binding: true, ...other };
}

function full(algorithm: RateAlgorithm, maxEntries: number) {
  const clock = new ManualClock();
  const store = memoryStore({ clock, maxEntries });
  const filler = rateRule(algorithm, 1, SECOND);
  const ask = (one: Step): Answer => store.apply([one])[0] as Answer;
  for (let i = 0; i < maxEntries; i += 1)
    ask({ ...step('take', `old ${i}`, filler), limiter: 'old' });
  return { clock, store, ask };
}

describe.each(ALGORITHMS)('a key that was counted while the store was full (%s)', (algorithm) => {
  const rule = rateRule(algorithm, 10, HOUR);

  it.each([4, 5_000])(
    'has used what it used when there is room again (%s entries)',
    (maxEntries) => {
      const { clock, ask, store } = full(algorithm, maxEntries);
      let admitted = 0;
      for (let i = 0; i < 20; i += 1) if (ask(step('take', 'ada', rule)).allowed) admitted += 1;
      expect(admitted).toBe(10);
      expect(store.overflowed).toBe(20);
      clock.advance('2s'); // the entries that filled the store have expired
      for (let i = 0; i < 20; i += 1) if (ask(step('take', 'ada', rule)).allowed) admitted += 1;
      expect(admitted).toBe(10);
      expect(store.overflowed).toBe(20);
    },
  );

  it('is limited as in a store with room, whoever began the count that it shares', () => {
    const { clock, ask } = full(algorithm, 4);
    const roomy = memoryStore({ clock });
    for (let i = 0; i < 2 * SHARED; i += 1) ask(step('take', `first ${i}`, rule));
    let admitted = 0;
    for (const passed of ['45m', '15m', '15m']) {
      clock.advance(passed); // the second time, the windows of the first keys have ended
      for (let i = 0; i < 100; i += 1) {
        const all = step('take', `second ${i}`, rule, { cost: 5 });
        if (!ask(all).allowed) continue;
        admitted += 1;
        expect(roomy.apply([all])).toMatchObject([{ allowed: true }]);
      }
    }
    expect(admitted).toBeGreaterThan(0);
  });

  it('goes on in a count of its own, from where the shared one stood', () => {
    const { clock, ask, store } = full(algorithm, 4);
    for (let i = 0; i < 4; i += 1) ask(step('take', 'ada', rule));
    clock.advance('2s');
    ask(step('take', 'ada', rule, { cost: 3 }));
    const { size } = store;
    for (let i = 0; i < 4; i += 1) ask({ ...step('take', `new ${i}`, rule), limiter: 'new' });
    expect(store.size).toBeGreaterThan(size);
    let admitted = 0;
    for (let i = 0; i < 20; i += 1) if (ask(step('take', 'ada', rule)).allowed) admitted += 1;
    expect(admitted).toBe(3);
  });

  it('stays blocked if it was blocked before, while the store overflows and after', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock, maxEntries: 50 });
    const one = rateRule(algorithm, 1, HOUR);
    store.apply([step('take', 'ada', one)]);
    for (let i = 0; i < 5_000; i += 1) {
      store.apply([
        { ...step('take', `flood ${i}`, rateRule(algorithm, 1, SECOND)), limiter: 'f' },
      ]);
      clock.advance(1);
      expect(store.apply([step('take', 'ada', one)])[0]?.allowed).toBe(false);
    }
    clock.advance('1m');
    expect(store.apply([step('take', 'ada', one)])[0]?.allowed).toBe(false);
  });

  it('takes back and forgets nothing of what others may have used', () => {
    const { clock, ask } = full(algorithm, 4);
    const grant = ask(step('take', 'ada', rule, { cost: 10 }));
    const receipt = receiptFrom(rule, grant, 10);
    for (const passed of ['1ms', '2s'] as const) {
      clock.advance(passed);
      expect(ask(step('put', 'ada', rule, { cost: 10, receipt })).allowed).toBe(false);
      expect(ask(step('reset', 'ada', rule)).allowed).toBe(true);
      expect(ask(step('take', 'ada', rule)).allowed).toBe(false);
    }
    clock.advance('2h');
    expect(ask(step('take', 'ada', rule, { cost: 10 })).allowed).toBe(true);
  });
});

/** What one of many keys does at a moment. */
const event = fc.record({
  key: fc.nat(60),
  op: fc.oneof(
    { weight: 8, arbitrary: fc.constant('take' as const) },
    { weight: 1, arbitrary: fc.constantFrom('put' as const, 'reset' as const, 'record' as const) },
  ),
  cost: fc.integer({ min: 1, max: 3 }),
  passUs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: SECOND })),
});

interface Grant {
  readonly cost: number;
  readonly here: Receipt;
  readonly there: Receipt;
}

describe.each(ALGORITHMS)('a store of few entries (%s)', (algorithm) => {
  it('admits nothing that a store with room would not, whatever is asked', () => {
    let overflowed = 0;
    let admitted = 0;
    const limits = fc.record({
      limit: fc.integer({ min: 1, max: 8 }),
      maxEntries: fc.integer({ min: 1, max: 40 }),
    });
    const events = fc.array(event, { minLength: 100, maxLength: 400, size: 'max' });
    fc.assert(
      fc.property(limits, events, ({ limit, maxEntries }, trace) => {
        const clock = new ManualClock();
        const rule = rateRule(algorithm, limit, 5 * SECOND);
        const small = memoryStore({ clock, maxEntries });
        const roomy = memoryStore({ clock });
        const grants = new Map<string, Grant>();
        for (const { key: number, op, cost, passUs } of trace) {
          clock.setUs(clock.nowUs() + passUs);
          const key = `k${number}`;
          const grant = grants.get(key);
          if (op === 'put' && !grant) continue;
          if (op === 'put') grants.delete(key);
          const asked = step(op, key, rule, { cost: op === 'put' ? (grant?.cost ?? 0) : cost });
          const [here] = small.apply([{ ...asked, ...(grant && { receipt: grant.here }) }]);
          expect(small.size).toBeLessThanOrEqual(maxEntries + SHARED);
          // The other store gets only what was admitted here, and must admit all of it.
          if (!here?.allowed && op !== 'record') continue;
          const [there] = roomy.apply([{ ...asked, ...(grant && { receipt: grant.there }) }]);
          if (op !== 'take' || !here || !there) continue;
          expect(there.allowed).toBe(true);
          grants.set(key, {
            cost,
            here: receiptFrom(rule, here, cost),
            there: receiptFrom(rule, there, cost),
          });
          admitted += 1;
        }
        overflowed += small.overflowed;
      }),
      { seed: 20_260_101, numRuns: 80 },
    );
    expect(overflowed).toBeGreaterThan(1_000);
    expect(admitted).toBeGreaterThan(1_000);
  });
});

describe('permits taken while the store is full', () => {
  const rule = makeLeasesRule(3, 60 * SECOND);
  const permit = (op: Step['op'], key: string, id: string): Step =>
    step(op, key, rule, { limiter: 'in-flight', lease: { id, critical: false } });

  it('are given back where they were taken, though there is room again', () => {
    const { clock, ask, store } = full('token-bucket', 4);
    for (const id of ['a', 'b']) expect(ask(permit('take', 'ada', id)).allowed).toBe(true);
    clock.advance('2s');
    expect(ask(permit('take', 'ada', 'c')).allowed).toBe(true); // now in a separate count
    expect(ask(permit('take', 'ada', 'd')).allowed).toBe(false);
    expect(ask(permit('record', 'ada', 'a')).allowed).toBe(true);
    expect(ask(permit('look', 'ada', 'a'))).toMatchObject({ used: 3 });
    for (const id of ['a', 'b', 'c']) {
      expect(ask(permit('put', 'ada', id)).allowed).toBe(true);
      expect(ask(permit('put', 'ada', id)).allowed).toBe(false);
    }
    expect(ask(permit('look', 'ada', 'a'))).toMatchObject({ used: 0 });
    ask({ ...step('take', 'x', makeRule('token-bucket', 1, SECOND)), limiter: 'old' });
    clock.advance('2s');
    expect(store.size).toBeLessThanOrEqual(5);
  });

  it('are never more than the limit, and leave nothing behind when all are given back', () => {
    const asked = fc.record({
      key: fc.nat(20),
      op: fc.constantFrom('take' as const, 'take' as const, 'put' as const, 'record' as const),
      id: fc.nat(5),
      passUs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 20 * SECOND })),
    });
    let overflowed = 0;
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.array(asked, { minLength: 50, maxLength: 300, size: 'max' }),
        (maxEntries, trace) => {
          const clock = new ManualClock();
          const store = memoryStore({ clock, maxEntries });
          const until = new Map<string, number>();
          for (const { key, op, id, passUs } of trace) {
            clock.setUs(clock.nowUs() + passUs);
            const now = clock.nowUs();
            const name = `k${key} ${id}`;
            const wasHeld = (until.get(name) ?? 0) > now;
            const { allowed } = store.apply([permit(op, `k${key}`, name)])[0] as Answer;
            // A permit is found exactly if it is held: it is neither lost nor left behind.
            if (op === 'put') expect(allowed).toBe(wasHeld);
            if (wasHeld && op !== 'put') expect(allowed).toBe(true);
            if (op === 'put') until.delete(name);
            else if (allowed) until.set(name, now + rule.leaseUs);
            const held = [...until].filter(([one, end]) => one.startsWith(`k${key} `) && end > now);
            expect(held.length).toBeLessThanOrEqual(rule.limit);
          }
          overflowed += store.overflowed;
          for (const name of until.keys()) {
            store.apply([permit('put', name.split(' ')[0] as string, name)]);
          }
          clock.advance('61s');
          for (let key = 0; key <= 20; key += 1) store.apply([permit('look', `k${key}`, 'none')]);
          expect(store.size).toBe(0);
        },
      ),
      { seed: 20_260_101, numRuns: 200 },
    );
    expect(overflowed).toBeGreaterThan(1_000);
  });

  it('make room again when their time is over', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock, maxEntries: 4 });
    for (let i = 0; i < 4; i += 1) store.apply([permit('take', `crashed ${i}`, `${i}`)]);
    store.apply([step('take', 'ada', makeRule('token-bucket', 1, HOUR))]);
    expect(store.overflowed).toBe(1);
    clock.advance('1m');
    for (let i = 0; i < 4; i += 1) {
      store.apply([step('take', `new ${i}`, makeRule('token-bucket', 1, HOUR))]);
    }
    expect(store.overflowed).toBe(1);
  });
});

describe('different items in a full store', () => {
  const rule = makeDistinctRule(3, HOUR);
  const items = (...names: string[]) => ({
    cost: names.length,
    items: names.map((name) => name.repeat(32)),
  });

  function filled() {
    const clock = new ManualClock();
    const store = memoryStore({ clock, maxEntries: 4 });
    const ask = (one: Step): Answer => store.apply([one])[0] as Answer;
    const touch = (key: string, ...names: string[]) =>
      ask(step('take', key, rule, items(...names))).allowed;
    return { clock, store, ask, touch };
  }

  it('replace expired ones of their key, and are rejected until then', () => {
    const { clock, ask, touch } = filled();
    expect([touch('ada', 'a'), touch('bob', 'a', 'b', 'c')]).toEqual([true, true]);
    expect([touch('ada', 'b'), touch('ada', 'a')]).toEqual([false, true]);
    const look = measure(rule, ask(step('look', 'ada', rule, items('b'))), 1);
    expect(look.retryAfterMs).toBe(HOUR / 1000);
    clock.advance('1h');
    expect(touch('ada', 'b')).toBe(true);
  });

  it('of new keys are counted together, up to the limit', () => {
    const { store, touch } = filled();
    touch('bob', 'a', 'b', 'c');
    touch('ada', 'a');
    let admitted = 0;
    for (let i = 0; i < 5_000; i += 1) if (touch(`new ${i}`, (i % 16).toString(16))) admitted += 1;
    expect(admitted).toBeGreaterThan(3 * 1_024);
    expect(store.size).toBeLessThanOrEqual(4 + 3 * 1_024);
    for (const name of '012345') expect(touch('bob', name)).toBe(false);
  });
});
