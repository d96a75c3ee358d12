/** The oracle's branches and partial puts, by examples worked out by hand. */

import { makeLeasesRule, makeRule } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';
import { Oracle, type Subject } from '../src/index.js';
import { lease, step } from '../src/probe.js';

const SECOND = 1_000_000;
const common: Subject = { limiter: 'all', key: 'a', rule: makeRule('fixed-window', 5, SECOND) };
const first: Subject = { limiter: 'first', key: 'a', rule: makeRule('token-bucket', 2, SECOND) };
const second: Subject = {
  limiter: 'second',
  key: 'a',
  rule: makeRule('sliding-window-log', 2, SECOND),
};

function group(costs: readonly [all: number, first: number, second: number]) {
  return [
    step('take', common, costs[0]),
    step('take', second, costs[2], { branch: 2 }),
    step('take', first, costs[1], { branch: 1 }),
  ];
}

function charged(oracle: Oracle, costs: Parameters<typeof group>[0]) {
  const verdicts = oracle.apply(group(costs), 0);
  expect(new Set(verdicts.map(({ branch }) => branch)).size).toBe(1);
  expect(verdicts.map(({ answer }) => answer.branch)).toEqual(verdicts.map((one) => one.branch));
  return { branch: verdicts[0]?.branch, charged: verdicts.map((one) => one.charged) };
}

describe('a group with branches', () => {
  it('charges the common steps and the first branch that passes', () => {
    const oracle = new Oracle();
    expect(charged(oracle, [1, 2, 1])).toEqual({ branch: 1, charged: [true, false, true] });
    expect(charged(oracle, [1, 1, 1])).toEqual({ branch: 2, charged: [true, true, false] });
    expect(charged(oracle, [1, 1, 2])).toEqual({ branch: 0, charged: [false, false, false] });
    expect(charged(oracle, [4, 0, 1])).toEqual({ branch: 0, charged: [false, false, false] });
    // A branch passes with a cost of 0, and nothing of it is charged.
    expect(charged(oracle, [3, 0, 1])).toEqual({ branch: 1, charged: [true, false, false] });
  });

  it('judges steps by themselves, and answers with the state after the group', () => {
    const oracle = new Oracle();
    expect(oracle.apply(group([1, 1, 3]), 0)).toMatchObject([
      { allowed: true, remaining: 4 },
      { allowed: false, remaining: 2, retryAfterMs: Number.POSITIVE_INFINITY },
      { allowed: true, remaining: 1 },
    ]);
  });

  it('charges a lease in the branch that passes only', () => {
    const oracle = new Oracle();
    const permits: Subject = { limiter: 'permits', key: 'a', rule: makeLeasesRule(1, SECOND) };
    const either = (id: string) => [
      step('take', permits, 1, { branch: 1, ...lease(id) }),
      step('take', first, 1, { branch: 2 }),
    ];
    const branches = ['a', 'b', 'c', 'd'].map((id) => oracle.apply(either(id), 0)[0]?.branch);
    expect(branches).toEqual([1, 2, 2, 0]);
  });

  it('has no branch in its answers if no step has one', () => {
    const [verdict] = new Oracle().apply([step('take', first)], 0);
    expect(verdict).not.toHaveProperty('branch');
    expect(verdict?.answer).not.toHaveProperty('branch');
  });

  it.each([
    ['in two branches', [1, 2]],
    ['in a branch and common', [1, undefined]],
    ['in branch 0', [0]],
    ['in branch 1.5', [1.5]],
  ] as const)('is not valid if a count stands %s', (_, branches) => {
    const takes = branches.map((branch) =>
      step('take', first, 1, branch === undefined ? {} : { branch }),
    );
    const invalid = expect.objectContaining({ code: 'SPW_GROUP_INVALID' });
    expect(() => new Oracle().apply(takes, 0)).toThrow(invalid);
  });
});

describe('a put', () => {
  const receipt = { atUs: 0, num: 0, units: 2 };

  it('gives back as much as it is asked for, of what the receipt says', () => {
    const oracle = new Oracle();
    oracle.apply([step('take', common, 5)], 0);
    const left = [1, 3, 3].map(
      (cost) => oracle.apply([step('put', common, cost, { receipt })], 0)[0]?.remaining,
    );
    expect(left).toEqual([1, 3, 5]);
  });

  it('gives back to a bucket in two puts as much as in one, if the second has the receipt of the rest', () => {
    const limit: Subject = { ...first, rule: makeRule('token-bucket', 10, SECOND, 12) };
    const left = [[5], [2, 3], [1, 4]].map((puts) => {
      const oracle = new Oracle();
      oracle.apply([step('take', limit, 5)], 0);
      oracle.apply([step('take', limit, 4)], 0.3 * SECOND);
      let rest = { atUs: 0.5 * SECOND, num: 0, units: 5 };
      for (const cost of puts) {
        oracle.apply([step('put', limit, cost, { receipt: rest })], 0.35 * SECOND);
        rest = { ...rest, atUs: rest.atUs - 0.1 * SECOND * cost, units: rest.units - cost };
      }
      return oracle.apply([step('look', limit)], 0.35 * SECOND)[0]?.resetMs;
    });
    // 900 ms were owed, 350 have passed, and 150 of the grant of 5 had not refilled.
    expect(left).toEqual([400, 400, 400]);
  });

  it('lowers the entry of a log, which keeps its time', () => {
    const oracle = new Oracle();
    oracle.apply([step('take', second, 2)], 0);
    const [put] = oracle.apply([step('put', second, 1, { receipt })], 0.4 * SECOND);
    expect(put).toMatchObject({ allowed: true, remaining: 1, resetMs: 600 });
  });
});
