/** Windows, logs and queues in a flat table answer like plain counts, while the table grows, empties and moves. */

import { type Answer, memoryStore, type Step } from '@spillway/core';
import {
  type LogRule,
  makeRule,
  makeShaperRule,
  type QueueRule,
  type RateRule,
  type Receipt,
  receiptFrom,
  stepText,
} from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';
import { stepLog } from '../../src/algorithms/log/log-step.js';
import { pick, type Random, seeded } from '../net/random.js';
import { PlainLog } from './plain-log.js';

const SECOND = 1_000_000;
const DAY = 86_400 * SECOND;

/** Counts in maps, by the steps of the algorithms: of logs as objects, of windows and queues as text. */
class PlainCounts {
  private readonly logs = new Map<string, PlainLog>();
  private readonly texts = new Map<string, string>();

  /** Entries that no step has found expired. */
  get entries(): number {
    let entries = 0;
    for (const { count } of this.logs.values()) entries += count;
    return entries;
  }

  do(step: Step, nowUs: number): object {
    const name = `${step.limiter} ${step.rule.code} ${step.key}`;
    if (step.rule.machine === 'log') return this.doLog(name, step.rule, step, nowUs);
    const { answer, text } = stepText(this.texts.get(name), step, nowUs, true);
    if (text === undefined) this.texts.delete(name);
    else this.texts.set(name, text);
    return answer;
  }

  private doLog(name: string, rule: LogRule, step: Step, nowUs: number): object {
    const view = { used: 0, freesUs: 0, lastUs: 0 };
    const log = this.logs.get(name) ?? new PlainLog();
    const allowed = stepLog({ ...step, rule }, log, nowUs, true, view);
    this.logs.set(name, log);
    return { allowed, nowUs, ...view };
  }
}

interface Play {
  readonly rules: readonly (RateRule | QueueRule)[];
  readonly keys: number;
  readonly steps: number;
  /** How long a step may take. */
  readonly passUs: number;
  readonly costs: readonly number[];
}

const OPS = ['take', 'take', 'take', 'take', 'take', 'record', 'put', 'put', 'look', 'reset'];

/** Applies random steps to a memory store and to plain counts. Returns both. */
function play(random: Random, { rules, keys, steps, passUs, costs }: Play) {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const plain = new PlainCounts();
  const grants: { step: Step; receipt: Receipt }[] = [];
  for (let i = 0; i < steps; i += 1) {
    clock.setUs(clock.nowUs() + random(passUs));
    // With many keys, expired entries may already be dropped.
    if (keys < 10 && random(400) === 0) clock.setUs(clock.nowUs() - random(200 * passUs));
    // Resets are rare, or no log would become long.
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
    const holds = step.rule.machine === 'queue' && random(20) === 0;
    const played: Step = holds
      ? { ...step, op: 'hold', cost: 0, holdUs: random(50 * passUs) }
      : step;
    const answer = store.apply([played])[0] as Answer;
    expect(answer).toEqual(plain.do(played, clock.nowUs()));
    if (played.op === 'take' && answer.allowed) {
      grants.push({ step, receipt: receiptFrom(step.rule, answer, step.cost) });
    }
  }
  return { store, plain, clock };
}

const window = (algorithm: 'fixed-window' | 'sliding-window-counter', limit: number, us: number) =>
  makeRule(algorithm, limit, us);
const log = (limit: number, us: number) => makeRule('sliding-window-log', limit, us);

function takeOf(rule: RateRule | QueueRule): Step {
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
      'queues of many keys, which come and go',
      {
        rules: [makeShaperRule(3, SECOND, 2, SECOND), makeShaperRule(1_000, SECOND, 1, SECOND)],
        keys: 4_000,
        steps: 20_000,
        passUs: 500,
        costs: [0, 1, 1, 2],
      },
    ],
    [
      'queues of few keys, whose clock goes back',
      {
        rules: [makeShaperRule(7, SECOND, 3, SECOND), makeShaperRule(4, SECOND, 1, 5 * SECOND)],
        keys: 4,
        steps: 3_000,
        passUs: 200_000,
        costs: [0, 1, 1, 2, 4],
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
    // Some 25 entries a log; each take finds one that has expired. Both limits share their logs.
    ...[3_000, 60 * SECOND, 2 ** 32 - 1, 2 ** 32, 400 * DAY].map((us): [string, Play] => {
      const rules = [log(20, us), log(1_000, us)];
      return [
        `logs whose entries end as fast as they come, in windows of ${us} us`,
        { rules, keys: 2, steps: 3_000, passUs: Math.ceil(us / 100), costs: [1] },
      ];
    }),
  ])('answers as plain objects would: %s', (_, script) => {
    const { store, plain } = play(seeded(seed), script);
    // Entries that have expired but are not dropped yet are counted, and never lost.
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

it('cuts a queue whose clock went back only as far as the longest of its rules', () => {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const plain = new PlainCounts();
  const short = takeOf(makeShaperRule(5, SECOND, 1, SECOND));
  const long = takeOf(makeShaperRule(4, SECOND, 1, 9 * SECOND));
  for (const [second, step] of [
    [100, short],
    [98, long],
    [200, short],
    [200, long],
    [198, long],
  ] as const) {
    clock.setUs(second * SECOND);
    expect(store.apply([step])[0]).toEqual(plain.do(step, clock.nowUs()));
  }
});
