/** Distinct items whose fingerprints begin with the same bytes take no longer than others: a client can find such. */

import { memoryStore, type Step } from '@spillway/core';
import { makeDistinctRule } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { expect, it } from 'vitest';

const rule = makeDistinctRule(4_000, 3_600_000_000);

/** Runs requests with 100 items each on a key that has 4,000. Returns the shortest duration in milliseconds. */
function shortestRejection(fingerprint: (index: number) => string): number {
  const store = memoryStore({ clock: new ManualClock() });
  const take = (from: number) => {
    const items = Array.from({ length: 100 }, (_, at) => fingerprint(from + at));
    const step = {
      op: 'take',
      limiter: 'cards',
      key: 'ada',
      rule,
      cost: 100,
      binding: true,
    } as const;
    const start = performance.now();
    const [answer] = store.apply([{ ...step, items } as Step]);
    return { ms: performance.now() - start, allowed: answer?.allowed };
  };
  for (let from = 0; from < 4_000; from += 100) expect(take(from).allowed).toBe(true);
  const rejections = Array.from({ length: 10 }, (_, round) => take(4_000 + 100 * round));
  expect(rejections.some(({ allowed }) => allowed)).toBe(false);
  return Math.min(...rejections.map(({ ms }) => ms));
}

it('finds items with equal first bytes as quickly as others', () => {
  // A multiplier that spreads the indexes over all first bytes.
  const spread = (index: number) => Math.imul(index, 0x9e3779b1) >>> 0;
  const others = shortestRejection((index) =>
    spread(index).toString(16).padStart(8, '0').repeat(4),
  );
  const hostile = shortestRejection((index) => index.toString(16).padStart(32, '0'));
  expect(hostile).toBeLessThan(8 * others);
});
