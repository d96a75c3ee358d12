/** A request that costs nothing does not tell its client that a used-up quota is back in a second. */

import { calendar, createGuard, memoryStore, rateLimit } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { expect, it } from 'vitest';

it('tells when the quota is back', async () => {
  const store = memoryStore({ clock: new ManualClock(Date.UTC(2026, 10, 15) * 1000) });
  let cost = 1;
  const quota = rateLimit({ name: 'quota', limit: 1, window: calendar('day'), cost: () => cost });
  const guard = createGuard(quota, { store, headers: ['draft-11', 'legacy'] });
  await guard.admit(request());
  cost = 0;
  const { allowed, headers } = await guard.admit(request());
  expect(allowed).toBe(true);
  expect(Object.fromEntries(headers).RateLimit).toBe('"quota";r=0;t=86400');
});
