/** In a full memory, a limit by day does not end the month of others. */

import { calendar, createLimiter, memoryStore } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { expect, it } from 'vitest';

it('keeps the month of keys that share a count, whatever limits by day count', () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 15) * 1000);
  const store = memoryStore({ clock, maxEntries: 1 });
  const monthly = createLimiter(
    { name: 'monthly', limit: 3, window: calendar('month') },
    { store },
  );
  const daily = createLimiter(
    { name: 'daily', limit: 1_000_000, window: calendar('day') },
    { store },
  );
  monthly.consume('first');
  expect(monthly.consume('ada', { cost: 3 }).allowed).toBe(true);
  // There are 1,024 shared counts.
  for (let i = 0; i < 10_000; i += 1) daily.consume(`user-${i}`);
  expect(monthly.consume('ada').allowed).toBe(false);
  clock.advance('24h');
  expect(monthly.consume('ada').allowed).toBe(false);
});

it.each([
  ['day', '2026-10-24T22:00:00Z', '24h'],
  ['week', '2026-10-18T22:00:00Z', '168h'],
  ['month', '2026-09-30T22:00:00Z', '744h'],
] as const)('counts a %s that the clocks lengthen until its end', (period, start, usualLength) => {
  const clock = new ManualClock(Date.parse(start) * 1000);
  const store = memoryStore({ clock, maxEntries: 1 });
  const first = createLimiter({ name: 'first', limit: 10, window: '1m' }, { store });
  const window = calendar(period, { timeZone: 'Europe/Berlin' });
  const limiter = createLimiter({ name: 'by-period', limit: 3, window }, { store });
  first.consume('ada');
  expect(limiter.consume('ada', { cost: 3 }).allowed).toBe(true);
  clock.advance(usualLength);
  clock.advance('1s');
  expect(limiter.consume('ada').allowed).toBe(false);
});
