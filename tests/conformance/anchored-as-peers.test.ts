/** Anchored windows decide as express-rate-limit and rate-limiter-flexible do, whose windows begin with a request. */

import { createLimiter, fixedWindow } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { MemoryStore, type Options } from 'express-rate-limit';
import fc from 'fast-check';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

const START_MS = 1_767_225_604_321;
const seconds = fc.integer({ min: 1, max: 20 });
const visit = fc.record({
  passMs: fc.oneof(fc.nat(20), fc.nat(3_000), fc.constantFrom(1_000, 5_000)),
  key: fc.constantFrom('ada', 'ada', 'bob'),
});
type Visit = typeof visit extends fc.Arbitrary<infer One> ? One : never;
const visits = fc.array(visit, { minLength: 50, maxLength: 150, size: 'max' });

beforeEach(() => void vi.useFakeTimers({ now: START_MS }));
afterEach(() => void vi.useRealTimers());

it('admits what they admit, and says when the window ends as they do', async () => {
  let refused = 0;
  const property = async (limit: number, window: number, trace: readonly Visit[]) => {
    const clock = new ManualClock(Date.now() * 1_000);
    const rule = {
      limit,
      window: `${window}s`,
      algorithm: fixedWindow,
      anchor: 'first-request',
    } as const;
    const ours = createLimiter(rule, { clock });
    const theirs = new MemoryStore();
    theirs.init({ windowMs: window * 1_000 } as Options);
    const flexible = new RateLimiterMemory({ points: limit, duration: window });
    for (const { passMs, key } of trace) {
      await vi.advanceTimersByTimeAsync(passMs);
      clock.advance(passMs);
      const { totalHits, resetTime } = await theirs.increment(key);
      const passes = await flexible.consume(key).then(
        () => true,
        () => false,
      );
      const { allowed, resetMs } = ours.consume(key);
      if (!allowed) refused += 1;
      expect(allowed).toBe(totalHits <= limit);
      expect(allowed).toBe(passes);
      expect(resetMs).toBe((resetTime as Date).getTime() - Date.now());
    }
    theirs.shutdown();
  };
  const settings = { seed: 20_260_101, numRuns: 40 };
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), seconds, visits, property),
    settings,
  );
  expect(refused).toBeGreaterThan(500);
});
