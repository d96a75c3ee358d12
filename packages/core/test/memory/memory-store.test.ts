import { type Answer, memoryStore, type Step } from '@spillway/core';
import { type BucketAnswer, makeRule, makeShaperRule, type Rule } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';
import { forgivingMemory } from '../../src/memory/memory-store.js';

const MINUTE = 60_000_000;
const fivePerMinute = makeRule('token-bucket', 5, MINUTE);

function take(key: string, rule: Rule = fivePerMinute, cost = 1): Step {
  return { op: 'take', limiter: 'api', key, rule, cost, binding: true };
}

function first(answers: readonly Answer[]): Answer {
  return answers[0] as Answer;
}

describe('the memory store', () => {
  it('answers without a promise', () => {
    expect(Array.isArray(memoryStore().apply([take('ada')]))).toBe(true);
  });

  it('keeps every key apart while it grows from a thousand slots to hundreds of thousands', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const keys = 200_000;
    // Key i is charged 1 + i mod 5 units in rounds, so that entries are read and written in all phases of growth.
    let refused = 0;
    for (let round = 0; round < 5; round += 1) {
      for (let i = 0; i < keys; i += 1) {
        if (i % 5 >= round && !first(store.apply([take(`k${i}`)])).allowed) refused += 1;
      }
    }
    expect(refused).toBe(0);
    expect(store.size).toBe(keys);
    for (let i = 0; i < keys; i += 37) {
      const answer = first(store.apply([{ ...take(`k${i}`), op: 'look' }])) as BucketAnswer;
      expect(answer.tatUs - answer.nowUs).toBe((1 + (i % 5)) * (MINUTE / 5));
    }
  });

  it('drops only buckets that are full again, so that memory follows the keys in use', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    for (let i = 0; i < 300_000; i += 1) {
      clock.advance(1); // 1,000 new keys a second, each in use for 12 s
      store.apply([take(`k${i}`)]);
    }
    expect(store.size).toBeGreaterThanOrEqual(12_000);
    expect(store.size).toBeLessThan(60_000);
  });

  it('survives a flood of new keys without freeing a blocked one or growing', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock, maxEntries: 1_000 });
    for (let i = 0; i < 5; i += 1) store.apply([take('blocked')]);
    for (let i = 0; i < 50_000; i += 1) store.apply([take(`flood ${i}`)]);
    expect(first(store.apply([take('blocked')])).allowed).toBe(false);
    expect(store.size).toBeLessThanOrEqual(1_000 + 1_024);
    expect(store.overflowed).toBeGreaterThan(40_000);
  });

  it('limits new keys together while it is full, never more freely than apart', () => {
    const store = memoryStore({ clock: new ManualClock(), maxEntries: 1 });
    store.apply([take('first')]);
    let admitted = 0;
    // Enough keys that each shared count gets five of them, whatever the random seed of their distribution.
    for (let i = 0; i < 60_000; i += 1) {
      if (first(store.apply([take(`k${i}`)])).allowed) admitted += 1;
    }
    expect(admitted).toBe(1_024 * 5);
  });

  it('tells each decision on a shared count once, those of a group too', () => {
    const store = memoryStore({ clock: new ManualClock(), maxEntries: 1 });
    store.apply([take('first')]);
    store.apply([take('a'), take('b'), take('c')]);
    expect(store.overflowed).toBe(3);
  });

  it.each([
    'token-bucket',
    'fixed-window',
    'sliding-window-counter',
    'sliding-window-log',
  ] as const)('gives new keys their own %s again once entries have run out', (algorithm) => {
    const clock = new ManualClock();
    const store = memoryStore({ clock, maxEntries: 10 });
    const rule = makeRule(algorithm, 1, MINUTE);
    for (let i = 0; i < 10; i += 1) store.apply([take(`old ${i}`, rule)]);
    store.apply([take('early', rule)]);
    expect(store.overflowed).toBeGreaterThan(0);
    clock.advance('5m');
    const { overflowed } = store;
    for (let i = 0; i < 10; i += 1) {
      expect(first(store.apply([take(`new ${i}`, rule)])).allowed).toBe(true);
    }
    expect(store.overflowed).toBe(overflowed);
  });

  it('sweeps its shelves once for all steps of a group while it stays full', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock, maxEntries: 3 });
    const shared = makeRule('fixed-window', 5, MINUTE);
    let sweeps = 0;
    const shelf = () => {
      const own = shared.logic.shelf();
      const { reclaim } = own;
      const counting = (nowUs: number): void => {
        sweeps += 1;
        reclaim.call(own, nowUs);
      };
      return Object.assign(own, { reclaim: counting });
    };
    const rule = { ...shared, logic: Object.assign(Object.create(shared.logic), { shelf }) };
    const group = (name: string) => ['a', 'b', 'c'].map((key) => take(`${name} ${key}`, rule));
    store.apply(group('own'));
    store.apply(group('shared'));
    clock.advance(1);
    sweeps = 0;
    store.apply(group('next'));
    expect(sweeps).toBe(2); // of the shelf of single keys, and of that of shared counts
    clock.advance('5m');
    const { overflowed } = store;
    expect(store.apply(group('new')).map(({ allowed }) => allowed)).toEqual([true, true, true]);
    expect(store.overflowed).toBe(overflowed);
  });

  it('counts the entries of logs, and lets the newest absorb more when there is no room', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock, maxEntries: 3 });
    const rule = makeRule('sliding-window-log', 10, MINUTE);
    for (let i = 0; i < 10; i += 1) {
      expect(first(store.apply([take('ada', rule)])).allowed).toBe(true);
      clock.advance('1s');
    }
    expect(store.size).toBe(3);
    expect(first(store.apply([take('ada', rule)])).allowed).toBe(false);
  });

  it('keeps exactly the buckets that are not full while its table is rebuilt', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const perSecond = makeRule('token-bucket', 1_000, 1_000_000);
    const keys = 600;
    // Key i is full again after i ms: some keys are full when the table is rebuilt, some a microsecond later, most
    // within a second.
    for (let i = 1; i <= keys; i += 1) store.apply([take(`k${i}`, perSecond, i)]);
    clock.advance(200);
    for (let i = 0; i < 4_000; i += 1) store.apply([take(`new ${i}`)]);
    for (let i = 1; i <= keys; i += 1) {
      const { tatUs, nowUs } = first(
        store.apply([{ ...take(`k${i}`, perSecond), op: 'look' }]),
      ) as BucketAnswer;
      expect(Math.max(0, tatUs - nowUs)).toBe(Math.max(0, i - 200) * 1_000);
    }
    expect(store.size).toBeLessThan(4_000 + keys);
  });

  it('of the fallback keeps as many pauses again when it is full, and no more', () => {
    const clock = new ManualClock();
    const store = forgivingMemory(100, clock);
    const rule = makeShaperRule(1, 3_600_000_000, 1, 0);
    for (let i = 0; i < 150; i += 1) store.apply([take(`taken ${i}`, rule)]);
    expect(store.size).toBe(100);
    const hold = { ...take('', rule), op: 'hold', holdUs: 1_000 } as const;
    for (let i = 0; i < 150; i += 1) store.apply([{ ...hold, key: `paused ${i}` }]);
    expect(store.size).toBe(200);
    const passes = (key: string) => first(store.apply([take(key, rule)])).allowed;
    expect(passes('paused 99')).toBe(false);
    expect(passes('paused 100')).toBe(true);
    clock.advance(1);
    expect(passes('paused 99')).toBe(true);
  });

  it('makes no list of limiters and codes that grows with the limits asked', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const bucket = (burst: number) => makeRule('token-bucket', 1_000, 1_000, burst);
    const window = (us: number) => makeRule('fixed-window', 1, 1_000 + us);
    for (let i = 1; i <= 5_000; i += 1) {
      store.apply([take('ada', bucket(i))]);
      expect(first(store.apply([take('ada', window(i))])).allowed).toBe(true);
      expect(first(store.apply([take('ada', window(i))])).allowed).toBe(false);
    }
    // If codes are dropped and made again, their counts stay the same.
    for (let i = 1; i <= 5_000; i += 1) {
      expect(first(store.apply([take('ada', window(i))])).allowed).toBe(false);
      const [answer] = store.apply([{ ...take('ada', bucket(i)), op: 'look' }]);
      expect((answer as BucketAnswer).tatUs - clock.nowUs()).toBe(1);
    }
  });

  it.each([0, -1, 1.5, Number.NaN, 1e9])('refuses maxEntries %s', (maxEntries) => {
    expect(() => memoryStore({ maxEntries })).toThrow(/maxEntries.*SPW_OPTION_INVALID/);
  });
});
