/** A limit on distinct items admits the same as a plain list of items with their times. */

import { createLimiter, distinct, memoryStore } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';

const algorithm = distinct();

it('admits what a list of things with their times does, and waits exactly', () => {
  const asks = fc.array(
    fc.record({ passMs: fc.nat(30), items: fc.array(fc.nat(9), { minLength: 1, maxLength: 4 }) }),
    { minLength: 1, maxLength: 30, size: 'max' },
  );
  const property = fc.property(fc.integer({ min: 1, max: 6 }), asks, (limit, all) => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const options = { name: 'things', limit, window: 100, algorithm } as const;
    const limiter = createLimiter(options, { store, validate: false });
    const added = new Map<number, number>();
    const missing = (items: readonly number[], nowMs: number) => {
      for (const [item, atMs] of added) if (atMs + 100 <= nowMs) added.delete(item);
      return new Set(items.filter((item) => !added.has(item)));
    };
    let nowMs = 0;
    for (const { passMs, items } of all) {
      nowMs += passMs;
      clock.advance(passMs);
      const fresh = missing(items, nowMs);
      const allowed = fresh.size === 0 || added.size + fresh.size <= limit;
      const got = limiter.consume('ada', { item: items });
      expect(got.allowed).toBe(allowed);
      if (allowed) for (const item of fresh) added.set(item, nowMs);
      else if (new Set(items).size > limit) expect(got.retryAfterMs).toBe(Infinity);
      else {
        clock.advance(got.retryAfterMs - 0.001);
        expect(limiter.peek('ada', { item: items }).allowed).toBe(false);
        clock.advance(0.001);
        nowMs += got.retryAfterMs;
        expect(limiter.peek('ada', { item: items }).allowed).toBe(true);
      }
      missing([], nowMs);
      expect(limiter.peek('ada').used).toBe(added.size);
    }
  });
  fc.assert(property, { numRuns: 100 });
});
