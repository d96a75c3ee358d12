/** A reset frees a key in all counts of its limiter, however many limiters were registered in the store before. */

import { createGuard, createLimiter, memoryStore, rateLimit } from '@spillway/core';
import { expect, it } from 'vitest';

it.each([0, 1_000])('frees a key behind %i other limiters', async (others) => {
  const store = memoryStore();
  for (let i = 0; i < others; i += 1) {
    createGuard(rateLimit({ name: `other ${i}`, limit: 1, window: '1h' }), { store });
  }
  const numbers = { name: 'api', burst: 1, window: '1h' } as const;
  const api = rateLimit({ ...numbers, limit: 10, plan: () => ({ limit: 20 }), key: 'ada' });
  const guard = createGuard(api, { store });
  const request = {
    method: 'GET',
    path: '/',
    clientIp: '203.0.113.7',
    header: () => undefined,
    raw: undefined,
  };
  expect((await guard.admit(request)).allowed).toBe(true);
  expect((await guard.admit(request)).allowed).toBe(false);
  createLimiter({ ...numbers, limit: 10 }, { store }).reset('ada');
  expect((await guard.admit(request)).allowed).toBe(true);
});
