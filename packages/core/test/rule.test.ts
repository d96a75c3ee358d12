/** Rules as data: which rules are equal, and which share a count. */

import { countOf, makeLeasesRule, makeRule, type Rule, sameRule } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';

const MINUTE = 60_000_000;
const bucket = makeRule('token-bucket', 10, MINUTE);
const leases = makeLeasesRule(10, MINUTE, 0.2);

const changes: [string, Rule, Partial<Record<string, unknown>>][] = [
  ...['limit', 'windowUs', 'burst', 'tolUs', 'tolNum', 'code'].map(
    (field): [string, Rule, Record<string, unknown>] => [
      `${field} of a bucket`,
      bucket,
      { [field]: 1 },
    ],
  ),
  ['limit of a window', makeRule('fixed-window', 10, MINUTE), { limit: 1 }],
  ['length of a window', makeRule('fixed-window', 10, MINUTE), { windowUs: 1 }],
  ['kind of a window', makeRule('fixed-window', 10, MINUTE), { kind: 'anchored' }],
  ['length of a log', makeRule('sliding-window-log', 10, MINUTE), { windowUs: 1 }],
  ['share of the open permits', leases, { open: 1 }],
  ['length of a lease', leases, { leaseUs: 1 }],
];

describe('two rules', () => {
  it('are the same if all of their numbers are', () => {
    expect(sameRule(bucket, makeRule('token-bucket', 10, MINUTE))).toBe(true);
    expect(sameRule(leases, makeLeasesRule(10, MINUTE, 0.2))).toBe(true);
  });

  it.each(changes)('are not the same if they differ in the %s', (_, rule, change) => {
    expect(sameRule(rule, { ...rule, ...change } as Rule)).toBe(false);
    expect(sameRule({ ...rule, ...change } as Rule, rule)).toBe(false);
  });

  it.each(['epoch', 'first-request'] as const)(
    'of a share begin where those of all do: %s',
    (anchor) => {
      const rule = makeRule('fixed-window', 10, MINUTE, 10, anchor);
      const eight = makeRule('fixed-window', 10, 8 * MINUTE, 10, anchor);
      expect(sameRule(rule.logic.share(rule, 1 / 8), eight)).toBe(true);
    },
  );

  it('share a count if each reads the state of the other as it is', () => {
    const code = (rule: Rule) => countOf({ rule });
    expect(code(makeRule('token-bucket', 20, MINUTE))).toBe(code(bucket));
    expect(code(makeRule('token-bucket', 20, MINUTE, 20))).toBe(code(bucket));
    expect(code(makeRule('token-bucket', 20, MINUTE, 10))).not.toBe(code(bucket));
    expect(code(makeRule('token-bucket', 7, MINUTE))).not.toBe(code(bucket));
    expect(code(makeRule('fixed-window', 5, MINUTE))).toBe(
      code(makeRule('fixed-window', 9, MINUTE)),
    );
    expect(code(makeLeasesRule(3, 1_000_000))).toBe(code(leases));
  });

  it('have a code that may stand in the name of a key', () => {
    for (const rule of [
      bucket,
      leases,
      makeRule('token-bucket', 999_999_937, 34_559_999_999_999),
    ]) {
      expect(countOf({ rule })).toMatch(/^[a-z][a-z0-9.]{0,30}$/);
    }
  });
});
