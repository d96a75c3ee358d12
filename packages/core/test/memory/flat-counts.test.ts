/** Windows and logs in a flat table answer as plain objects would, while the table grows, empties and moves. */

import { type Answer, memoryStore, type Step } from '@spillway/core';
import {
  type LogRule,
  makeRule,
  type RateRule,
  type Receipt,
  receiptFrom,
  type WindowRule,
} from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';
import { stepLog } from '../../src/algorithms/log/step.js';
import { stepWindow, type WindowState } from '../../src/algorithms/window/step.js';
import { pick, type Random, seeded } from '../net/random.js';
import { PlainLog } from './plain-log.js';

const SECOND = 1_000_000;
const DAY = 86_400 * SECOND;

/** Counts in a map of objects, by the steps of the algorithms themselves. */
class PlainCounts {
  private readonly logs = new Map<string, PlainLog>();
  private readonly windows = new Map<string, WindowState>();

  /** Entries that were not seen to be over. */
  get entries(): number {
    let entries = 0;
    for (const { count } of this.logs.values()) entries += count;
    return entries;
  }

  do(step: Step, nowUs: number): object {
    const name = `${step.limiter} ${step.rule.code} ${step.key}`;
    return step.rule.machine === 'log'
      ? this.doLog(name, step.rule, step, nowUs)
      : this.doWindow(name, step.rule as WindowRule, step, nowUs);
  }

  private doLog(name: string, rule: LogRule, step: Step, nowUs: number): object {
    const { op, cost, receipt } = step;
    const view = { used: 0, freesUs: 0, lastUs: 0 };
    const log = this.logs.get(name) ?? new PlainLog();
    const allowed = stepLog(rule, log, op, cost, nowUs, true, view, receipt);
    this.logs.set(name, log);
    return { allowed, nowUs, ...view };
  }

  private doWindow(name: string, rule: WindowRule, step: Step, nowUs: number): object {
    const { op, cost, receipt } = step;
    const kept = this.windows.get(name) ?? { dirty: false, startUs: 0, current: 0, previous: 0 };
    const state = { ...kept, dirty: false };
    const allowed = stepWindow(rule, state, op, cost, nowUs, true, receipt);
    const { dirty, ...numbers } = state;
    if (op === 'reset') this.windows.delete(name);
    else if (dirty) this.windows.set(name, state);
    return { allowed, nowUs, ...numbers };
  }
}

interface Play {
  readonly rules: readonly RateRule[];
  readonly keys: number;
  readonly steps: number;
  /** How long a step may take. */
  readonly passUs: number;
  readonly costs: readonly number[];
}

const OPS = ['take', 'take', 'take', 'take', 'take', 'record', 'put', 'put', 'look', 'reset'];

/** Plays steps by random on a memory store and on plain counts. Returns the store and the plain counts. */
function play(random: Random, { rules, keys, steps, passUs, costs }: Play) {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const plain = new PlainCounts();
  const grants: { step: Step; receipt: Receipt }[] = [];
  for (let i = 0; i < steps; i += 1) {
    clock.setUs(clock.nowUs() + random(passUs));
    // With many keys, what is over may be gone for good.
    if (keys < 10 && random(400) === 0) clock.setUs(clock.nowUs() - random(200 * passUs));
    // Rarely a reset, or no log would become long.
    const op = pick(random, OPS) as Step['op'];
    const grant = op === 'put' ? pick(random, grants.slice(-200)) : undefined;
    const step: Step = {
      op: (op === 'put' && !grant) || (op === 'reset' && random(keys) > 0) ? 'take' : op,
      limiter: pick(random, ['a', 'b']),
      key: `k${random(keys)}`,
      rule: pick(random, rules),
      cost: pick(random, costs),
      binding: true,
      ...(grant && { ...grant.step, op: 'put', receipt: grant.receipt }),
    };
    const answer = store.apply([step])[0] as Answer;
    expect(answer).toEqual(plain.do(step, clock.nowUs()));
    if (step.op === 'take' && answer.allowed) {
      grants.push({ step, receipt: receiptFrom(step.rule, answer, step.cost) });
    }
  }
  return { store, plain, clock };
}

const window = (algorithm: 'fixed-window' | 'sliding-window-counter', limit: number, us: number) =>
  makeRule(algorithm, limit, us);
const log = (limit: number, us: number) => makeRule('sliding-window-log', limit, us);

function takeOf(rule: RateRule): Step {
  return { op: 'take', limiter: 'a', key: 'ada', rule, cost: 1, binding: true };
}

describe.each(Array.from({ length: 6 }, (_, i) => i))('seed %i', (seed) => {
  it.each<[string, Play]>([
    [
      'windows of many keys, which come and go',
      {
        rules: [
          window('fixed-window', 3, SECOND),
          window('sliding-window-counter', 1_000_000_000, SECOND),
          makeRule('fixed-window', 5, 2 * SECOND, 5, 'first-request'),
        ],
        keys: 4_000,
        steps: 20_000,
        passUs: 500,
        costs: [0, 1, 1, 2, 999_999_999],
      },
    ],
    [
      'windows of few keys, whose clock goes back',
      {
        rules: [
          window('fixed-window', 30, SECOND),
          window('sliding-window-counter', 50, SECOND),
          makeRule('fixed-window', 40, 2 * SECOND, 40, 'first-request'),
        ],
        keys: 4,
        steps: 3_000,
        passUs: 20_000,
        costs: [0, 1, 1, 2, 60],
      },
    ],
    [
      'logs of many keys, which come and go',
      {
        rules: [log(3, SECOND), log(1_000_000_000, 2 * SECOND)],
        keys: 3_000,
        steps: 20_000,
        passUs: 500,
        costs: [0, 1, 1, 1, 2, 70_000, 999_999_999],
      },
    ],
    [
      'logs of one unit an entry, short and long',
      { rules: [log(700, SECOND), log(40, DAY)], keys: 3, steps: 5_000, passUs: 900, costs: [1] },
    ],
    [
      'logs of hundreds of entries, in windows of an hour and of 400 days',
      {
        rules: [log(1_000, 3_600 * SECOND), log(100_000, 400 * DAY)],
        keys: 4,
        steps: 5_000,
        passUs: 20 * SECOND,
        costs: [1, 1, 1, 1, 1, 1, 2, 500],
      },
    ],
  ])('answers as plain objects would: %s', (_, script) => {
    const { store, plain } = play(seeded(seed), script);
    // Entries that are over and not dropped yet are counted, and never lost.
    if (script.rules.every(({ machine }) => machine === 'log')) {
      expect(store.size).toBeLessThanOrEqual(2.5 * plain.entries + 64);
    }
  });
});

it.each(['sliding-window-counter', 'sliding-window-log'] as const)(
  'a table that is rebuilt in the last instant of a %s keeps it',
  (algorithm) => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    clock.setUs(1_000 * SECOND);
    const step = takeOf(makeRule(algorithm, 10, SECOND));
    store.apply([step]);
    const lastsUs = algorithm === 'sliding-window-log' ? SECOND : 2 * SECOND;
    clock.setUs(clock.nowUs() + lastsUs - 1);
    for (let i = 0; i < 3_000; i += 1) store.apply([{ ...step, key: `new ${i}` }]);
    expect(store.apply([{ ...step, op: 'look' }])[0]).toMatchObject(
      algorithm === 'sliding-window-log' ? { used: 1 } : { previous: 1 },
    );
  },
);

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
    // New keys make the table be rebuilt, which drops what is over.
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

  // Of some of these sizes the block has room for one entry more.
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
    // All that is left is the last unit.
    expect(store.apply([{ ...step, op: 'look' }])[0]).toMatchObject({ used: 1 });
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

  it.each(['fixed-window', 'sliding-window-log'] as const)(
    'has the room of a %s again that was reset',
    (algorithm) => {
      const store = memoryStore({ clock: new ManualClock(), maxEntries: 500 });
      const rule = makeRule(algorithm, 1, DAY);
      const step = (op: Step['op'], key: string): Step => {
        return { op, limiter: 'a', key, rule, cost: 1, binding: true };
      };
      for (let i = 0; i < 500; i += 1) store.apply([step('take', `old ${i}`)]);
      for (let i = 0; i < 500; i += 1) store.apply([step('reset', `old ${i}`)]);
      for (let i = 0; i < 500; i += 1) {
        expect(store.apply([step('take', `new ${i}`)])[0]?.allowed).toBe(true);
      }
      expect(store.overflowed).toBe(0);
    },
  );
});
