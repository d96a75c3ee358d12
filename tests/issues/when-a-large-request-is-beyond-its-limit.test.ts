/** A request that is larger than its limit and still admitted is told when the quota is back. */

import { calendar, createGuard, rateLimit } from '@spillway/core';
import { request } from 'spillway-testkit';
import { expect, it } from 'vitest';

it('tells the end of the period', async () => {
  const numbers = { name: 'quota', limit: 5, window: calendar('day') } as const;
  const guard = createGuard(rateLimit({ ...numbers, overage: 'allow', cost: () => 7 }));
  const { allowed, headers } = await guard.admit(request());
  expect(allowed).toBe(true);
  expect(Object.fromEntries(headers).RateLimit).toMatch(/^"quota";r=0;t=\d+$/);
});
