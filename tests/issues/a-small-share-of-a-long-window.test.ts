/**
 * With a small `localShare` and a long window, the bucket of the fallback counters refilled so slowly that it had no
 * room for a unit, and rejected every request. A share of 1e-300 threw a `RangeError`, or rejected without a time.
 */

import {
  createLimiter,
  distinct,
  fixedWindow,
  memoryStore,
  type RateAlgorithm,
  type Step,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core';
import { makeShaperRule, remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';

const SHARES = [1 / 1_000, 1e-6, 1e-300];
/** Twice the longest window of a share, because a sliding window also counts a part of the window before. */
const LONGEST_MS = (2 * 2 ** 51) / 1_000;

const ALGORITHMS: readonly (readonly [string, RateAlgorithm])[] = [
  ['a token bucket', tokenBucket],
  ['a fixed window', fixedWindow],
  ['a sliding window', slidingWindow],
  ['a log', slidingLog],
  ['distinct items', distinct()],
];

describe.each(ALGORITHMS)('%s of 1 per 30 days, while the store is down', (_, algorithm) => {
  it.each(SHARES)('admits one request at a share of %d', async (localShare) => {
    const store = remoteStore({ sync: false, apply: () => Promise.reject(new Error('down')) });
    const limiter = createLimiter(
      { name: 'reports', limit: 1, window: '30d', algorithm },
      { store, localShare, clock: new ManualClock(), logger: false },
    );
    const consume = (item: string) =>
      limiter.consume('ada', algorithm.name === 'distinct' ? { item } : {});
    expect(await consume('first')).toMatchObject({ allowed: true, remaining: 0 });
    const { allowed, retryAfterMs } = await consume('second');
    expect(allowed).toBe(false);
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(LONGEST_MS);
  });
});

it.each(SHARES)('a shaper of 1 per 30 days starts one job at a share of %d', (share) => {
  const whole = makeShaperRule(1, 30 * 86_400_000_000, 1, 0);
  const rule = whole.logic.share(whole, share);
  const store = memoryStore({ clock: new ManualClock() });
  const take: Step = { op: 'take', limiter: 'calls', key: 'ada', rule, cost: 1, binding: true };
  expect([take, take].map((step) => store.apply([step])[0]?.allowed)).toEqual([true, false]);
});
