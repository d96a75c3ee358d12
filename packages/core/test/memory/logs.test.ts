/** Logs in a memory store, in edge cases: what they count, and how much space they take and free. */

import { type Answer, memoryStore, type Step } from '@spillway/core';
import { makeRule, type RateRule, type Receipt, receiptFrom } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';

const SECOND = 1_000_000;
const DAY = 86_400 * SECOND;

const log = (limit: number, us: number) => makeRule('sliding-window-log', limit, us);

function takeOf(rule: RateRule): Step {
  return { op: 'take', limiter: 'a', key: 'ada', rule, cost: 1, binding: true };
}

describe('a store of logs', () => {
  it('counts exactly the entries that it keeps, and none once all are over', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const rule = log(1_000, 60 * SECOND);
    const take = (key: string): Step => {
      return { op: 'take', limiter: 'a', key, rule, cost: 1, binding: true };
    };
    let kept = 0;
    for (let i = 1; i <= 400; i += 1) {
      for (let n = 0; n < i; n += 7) {
        clock.advance(0.001);
        store.apply([take(`k${i}`)]);
        kept += 1;
      }
    }
    expect(store.size).toBe(kept);
    clock.advance('2m');
    // New keys make the table be rebuilt, which drops expired entries.
    for (let i = 0; i < 3_000; i += 1) store.apply([take(`new ${i}`)]);
    expect(store.size).toBe(3_000);
  });

  it('gives back the blocks of logs that are over, among those of others', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const grants: Step[] = [];
    for (let i = 0; i < 1_200; i += 1) {
      const rule = log(10, i % 2 ? SECOND : 60 * SECOND);
      const step = { ...takeOf(rule), key: `k${i}` };
      for (let n = 0; n < 3; n += 1) {
        clock.setUs(clock.nowUs() + 1);
        const answer = store.apply([step])[0] as Answer;
        if (i % 2 === 0) grants.push({ ...step, op: 'put', receipt: receiptFrom(rule, answer, 1) });
      }
    }
    clock.advance(3_000);
    for (let i = 0; i < 3_000; i += 1) store.apply([{ ...takeOf(log(1, SECOND)), key: `n${i}` }]);
    expect(store.size).toBe(1_800 + 3_000);
    for (const put of grants) expect(store.apply([put])[0]).toMatchObject({ allowed: true });
    expect(store.size).toBe(3_000);
  });

  // For some of these sizes, the block has room for one more entry.
  it.each([2, 3, 4, 5, 6, 7, 8, 9])(
    'counts no entry that is exactly one window old, beside others: %i in all',
    (entries) => {
      const clock = new ManualClock();
      const store = memoryStore({ clock });
      const step = takeOf(log(10, SECOND));
      for (let i = 1; i <= entries; i += 1) {
        expect(store.apply([step])[0]).toMatchObject({ used: i });
        clock.advance(100);
      }
      clock.advance(1_000 - 100 * entries);
      expect(store.apply([step])[0]).toMatchObject({ used: entries });
      expect(store.size).toBe(entries);
    },
  );

  it('keeps one entry for all units of an instant', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const step = takeOf(log(100, SECOND));
    for (let i = 1; i <= 5; i += 1) {
      clock.advance(1);
      store.apply([step]);
    }
    for (let i = 0; i < 5; i += 1) store.apply([step]);
    expect(store.apply([{ ...step, op: 'look' }])[0]).toMatchObject({ used: 10 });
    expect(store.size).toBe(5);
  });

  it.each([2 ** 16 - 1, 2 ** 16, 2 ** 16 + 1])('adds up entries to exactly %i units', (units) => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const step = takeOf(log(1_000_000, SECOND));
    for (const cost of [1, 1, units - 2, 1]) {
      clock.advance(1);
      store.apply([{ ...step, cost }]);
    }
    expect(store.apply([{ ...step, op: 'look' }])[0]).toMatchObject({ used: units + 1 });
    clock.advance(1_000 - 1);
    // Only the last unit is left.
    expect(store.apply([{ ...step, op: 'look' }])[0]).toMatchObject({ used: 1 });
  });

  it.each([4_000, SECOND, 60 * SECOND])('lets entries go while only takes come, in %i us', (us) => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const step = takeOf(log(100, us));
    for (let i = 1; i <= 500; i += 1) {
      expect(store.apply([step])[0]).toMatchObject({ used: Math.min(i, 10) });
      clock.setUs(clock.nowUs() + us / 10);
    }
    clock.setUs(clock.nowUs() + us);
    for (let used = 1; used <= 4; used += 1) {
      clock.setUs(clock.nowUs() + 1);
      expect(store.apply([step])[0]).toMatchObject({ used });
    }
    // Nearly a window later, and nearly another one later, when the four have expired.
    for (const used of [5, 2]) {
      clock.setUs(clock.nowUs() + 0.95 * us);
      expect(store.apply([step])[0]).toMatchObject({ used });
    }
  });

  it('promises nothing to a take under a limit of 0, and charges none beside one that is refused', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const step = takeOf(log(10, SECOND));
    const closed: Step = { ...step, rule: { ...step.rule, limit: 0 } as RateRule };
    // Enough entries that their block has room for one more.
    for (let i = 0; i < 5; i += 1) {
      clock.advance(1);
      store.apply([step]);
    }
    clock.advance(1);
    expect(store.apply([closed])[0]).toMatchObject({ allowed: false, used: 5, freesUs: -1 });
    store.apply([step, { ...closed, key: 'eve' }]);
    expect(store.apply([{ ...step, op: 'look' }])[0]).toMatchObject({ used: 5 });
  });

  it('has no entries for what a limit of 0 records', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const step = takeOf(log(10, SECOND));
    const closed: Step = { ...step, op: 'record', rule: { ...step.rule, limit: 0 } as RateRule };
    for (let i = 0; i < 3; i += 1) {
      clock.advance(1);
      expect(store.apply([closed])[0]).toMatchObject({ allowed: false, used: 0 });
    }
    store.apply([step]);
    store.apply([closed]);
    store.apply([step]);
    expect(store.size).toBe(1);
  });

  it('keeps hundreds of entries of the largest size', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const step = takeOf(log(1_000_000_000, 400 * DAY));
    for (let i = 1; i <= 320; i += 1) {
      clock.advance(1_000);
      expect(store.apply([{ ...step, cost: 1_000 }])[0]).toMatchObject({ used: 1_000 * i });
    }
    clock.setUs(clock.nowUs() + 400 * DAY - 100 * SECOND);
    expect(store.apply([{ ...step, op: 'look' }])[0]).toMatchObject({ used: 100_000 });
  });

  it('keeps a log whole that was refunded in the middle, became long, and short again', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const rule = log(100_000, 60 * SECOND);
    const step = takeOf(rule);
    const receipts: Receipt[] = [];
    for (let i = 0; i < 3_000; i += 1) {
      clock.advance(1);
      receipts.push(receiptFrom(rule, store.apply([step])[0] as Answer, 1));
    }
    for (const [i, receipt] of receipts.entries()) {
      if (i % 50 === 0) continue;
      expect(store.apply([{ ...step, op: 'put', receipt }])[0]?.allowed).toBe(true);
      expect(store.apply([{ ...step, op: 'put', receipt }])[0]?.allowed).toBe(false);
    }
    expect(store.size).toBe(60);
    clock.advance(60_000 - 3_000 + 1);
    // 1 ms after the first entry expired, one of sixty has.
    expect(store.apply([{ ...step, op: 'look' }])[0]).toMatchObject({ used: 59 });
  });
});
