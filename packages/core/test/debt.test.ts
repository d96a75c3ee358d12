/** Rules with debt: what is charged after the fact, in a memory store. */

import { calendar, memoryStore } from '@spillway/core';
import {
  calendarNamed,
  makeCalendarRule,
  makeRule,
  measure,
  type Op,
  type Rule,
  receiptOfStep,
  type Step,
  sameRule,
  withDebt,
} from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';

const MINUTE_US = 60_000_000;

const RULES = {
  'token bucket': makeRule('token-bucket', 100, MINUTE_US),
  calendar: makeCalendarRule(100, calendarNamed('day@UTC')),
};

/** A key of a memory store. */
function keyOf(rule: Rule, startUs = Date.UTC(2026, 10, 15) * 1000) {
  const clock = new ManualClock(startUs);
  const store = memoryStore({ clock });
  const step = (op: Op, cost: number, extras: Partial<Step> = {}): Step => {
    return { op, limiter: 'tokens', key: 'ada', rule, cost, binding: true, ...extras };
  };
  const apply = (asked: Step) => {
    const [answer] = store.apply([asked]);
    if (!answer) throw new Error('no answer');
    const { used, remaining, retryAfterMs } = measure(rule, answer, asked.cost);
    const { allowed, forgiven = 0 } = answer;
    return { allowed, forgiven, used, remaining, retryAfterMs, answer };
  };
  const ask = (op: Op, cost: number, extras?: Partial<Step>) => apply(step(op, cost, extras));
  return { clock, step, apply, ask };
}

describe.each(Object.entries(RULES))('debt in a %s', (name, plain) => {
  const rule = withDebt(plain, 100, 100);
  const isBucket = name === 'token bucket';

  it('charges a record up to limit and debt, and tells what it forgives', () => {
    const { ask } = keyOf(rule);
    expect(ask('record', 150)).toMatchObject({ allowed: false, forgiven: 0, used: 150 });
    expect(ask('record', 58)).toMatchObject({ forgiven: 8, used: 200, remaining: 0 });
    expect(ask('record', 2 ** 53 - 1)).toMatchObject({ forgiven: 2 ** 53 - 1, used: 200 });
  });

  it('rejects every cost until the count has recovered, to the microsecond', () => {
    const { ask, clock } = keyOf(rule);
    ask('record', 150);
    const { allowed, retryAfterMs, used } = ask('take', 1);
    expect([allowed, used]).toEqual([false, 150]);
    expect(retryAfterMs).toBe(isBucket ? 51 * 600 : 86_400_000);
    clock.setUs(clock.nowUs() + retryAfterMs * 1000 - 1);
    expect(ask('take', 1).allowed).toBe(false);
    clock.setUs(clock.nowUs() + 1);
    expect(ask('take', 1).allowed).toBe(true);
    expect(ask('look', 0)).toMatchObject({ allowed: true, retryAfterMs: 0 });
  });

  it('passes a cost of 0 in debt', () => {
    const { ask } = keyOf(rule);
    ask('record', 150);
    expect(ask('take', 0)).toMatchObject({ allowed: true, retryAfterMs: 0, used: 150 });
  });

  it('charges with a grant what is owed, although it would not pass', () => {
    const { ask } = keyOf(rule);
    expect(ask('take', 50, { owed: 70 })).toMatchObject({ allowed: true, used: 120, forgiven: 0 });
    expect(ask('take', 1, { owed: 5 })).toMatchObject({ allowed: false, used: 120, forgiven: 0 });
  });

  it('gives back what a grant and its debt have charged, and no more', () => {
    const { ask, apply, step } = keyOf(rule);
    ask('take', 30);
    const take = step('take', 50, { owed: 300 });
    const grant = apply(take);
    expect(grant).toMatchObject({ used: 200, forgiven: 180 });
    const receipt = receiptOfStep(take, grant.answer);
    expect(receipt.units).toBe(170);
    expect(ask('put', 1_000, { receipt })).toMatchObject({ allowed: true, used: 30 });
  });

  it('takes a share of limit and debt', () => {
    const { ask } = keyOf(rule.logic.share(rule, 0.5));
    const { used } = ask('record', 1_000);
    expect(used).toBe(isBucket ? 200 : 100);
  });

  it('counts on with overage, up to the debt', () => {
    const soft = rule.logic.soften?.(rule) as Rule;
    const { ask } = keyOf(soft);
    expect(ask('take', 150)).toMatchObject({ allowed: true, used: 150 });
    expect(ask('record', 100)).toMatchObject(
      isBucket ? { used: 200, forgiven: 50 } : { used: 250, forgiven: 0 },
    );
  });
});

it('charges owed units and later costs up to the debt, and forgives the rest', () => {
  const { ask } = keyOf(withDebt(RULES['token bucket'], 100, 100));
  const rows = [
    ask('take', 50, { owed: 8 }),
    ask('record', 80),
    ask('take', 1),
    ask('record', 175),
  ].map(({ allowed, used, forgiven, retryAfterMs }) => [allowed, used, forgiven, retryAfterMs]);
  expect(rows).toEqual([
    [true, 58, 0, 4_800],
    [false, 138, 0, 70_800],
    [false, 138, 0, 23_400],
    [false, 200, 113, Number.POSITIVE_INFINITY],
  ]);
});

describe('the count of a bucket with debt', () => {
  const codeOf = (limit: number, ofLimit = limit, debt = ofLimit) =>
    withDebt(makeRule('token-bucket', limit, MINUTE_US), debt, ofLimit).code;

  it('is not that of the bucket without, which would cut the state', () => {
    expect(codeOf(100)).not.toBe(RULES['token bucket'].code);
    expect(codeOf(100, 100, 50)).not.toBe(codeOf(100));
  });

  it('stays when a plan has another limit, because debt is a time', () => {
    expect(codeOf(200, 100)).toBe(codeOf(100));
    expect(codeOf(300, 100, 33)).toBe(codeOf(100, 100, 33));
  });

  it('fills within 71 years', () => {
    const rule = withDebt(makeRule('token-bucket', 1, 400 * 86_400_000_000), 1e9, 1);
    const { ask } = keyOf(rule);
    const { used, forgiven } = ask('record', 1_000);
    expect(used).toBe(66);
    expect(used - 1 + forgiven).toBe(1_000 - 1 + 1);
    expect(ask('take', 1).retryAfterMs).toBe(2 ** 51 / 1000);
  });
});

it('makes another rule, so that one group or name cannot stand for both', () => {
  for (const rule of Object.values(RULES)) {
    const owing = withDebt(rule, 50, 100);
    expect(sameRule(owing, withDebt(rule, 50, 100))).toBe(true);
    expect([rule, withDebt(rule, 51, 100)].map((other) => sameRule(other, owing))).toEqual([
      false,
      false,
    ]);
  }
});

it('is only for token buckets and calendars', () => {
  for (const algorithm of [
    'fixed-window',
    'sliding-window-counter',
    'sliding-window-log',
  ] as const) {
    expect(() => withDebt(makeRule(algorithm, 5, MINUTE_US), 5, 5)).toThrow('SPW_OPTION_INVALID');
  }
});

it('charges the window of the settlement, and gives back only in the one of the admission', () => {
  const rule = withDebt(RULES.calendar, 100, 100);
  const { ask, apply, step, clock } = keyOf(rule, Date.UTC(2026, 10, 15, 23, 59) * 1000);
  const take = step('take', 50);
  const receipt = receiptOfStep(take, apply(take).answer);
  clock.advance('1m');
  expect(ask('record', 20)).toMatchObject({ used: 20 });
  expect(ask('put', 10, { receipt })).toMatchObject({ allowed: false, used: 20 });
  expect(calendar('day').makeRule({ limit: 100 }).code).toBe(rule.code);
});
