/** A `put` whose receipt has no valid number of units leaves a valid count, the same in every store. */

import { makeLeasesRule, makeRule, measure, type Receipt } from '@spillway/core/store';
import { expect, it } from 'vitest';
import { onBothStores } from './both-stores.js';

const RULES = [
  makeRule('token-bucket', 10, 60_000_000),
  makeRule('token-bucket', 10, 7_000_001),
  makeRule('fixed-window', 10, 60_000_000),
  makeRule('sliding-window-counter', 10, 60_000_000),
  makeRule('sliding-window-log', 10, 60_000_000),
];

// What stays of 10 units after a grant of 5, and a `put` of 3.
const CASES: readonly [unknown, number][] = [
  [undefined, 8], // made by an older release, which gave back the whole cost
  [Number.NaN, 5],
  [-2, 5],
  [0, 5],
  [0.5, 5],
  [2.5, 5],
  [2, 7],
  [2 ** 53, 8],
  [Infinity, 8],
];

onBothStores(9, (open) => {
  it.each(CASES)('with %s units', async (units, remaining) => {
    const { store } = open();
    for (const [at, rule] of RULES.entries()) {
      const step = { limiter: `${at}`, key: 'ada', rule, binding: true } as const;
      const [grant] = await store.apply([{ ...step, op: 'take', cost: 5 }]);
      const receipt = { ...rule.logic.receipt(grant as never, 5), units } as Receipt;
      const [put] = await store.apply([{ ...step, op: 'put', cost: 3, receipt }]);
      const [look] = await store.apply([{ ...step, op: 'look', cost: 1 }]);
      expect(put?.allowed).toBe(remaining > 5);
      for (const answer of [put, look]) {
        expect(measure(rule, answer as never, 1).remaining).toBe(remaining);
      }
    }
  });

  it('gives back a permit, which its lease names', async () => {
    const { store } = open();
    const rule = makeLeasesRule(2, 60_000_000);
    for (const units of [undefined, Number.NaN, 0, 1]) {
      const lease = { id: `${units}`, critical: false };
      const step = { limiter: 'jobs', key: 'ada', rule, binding: true, cost: 1, lease } as const;
      await store.apply([{ ...step, op: 'take' }]);
      const receipt = { atUs: 0, num: 0, units } as Receipt;
      const [put] = await store.apply([{ ...step, op: 'put', receipt }]);
      expect(put).toMatchObject({ allowed: true, used: 0 });
    }
  });
});
