/** What is kept about a store is kept beside it: a frozen one is a store too. */

import { createGuard, createLimiter, memoryStore, rateLimit } from '@spillway/core';
import { expect, it } from 'vitest';

it('takes a store that is frozen', async () => {
  const memory = memoryStore();
  const store = Object.freeze({
    sync: false,
    apply: async (steps: Parameters<typeof memory.apply>[0]) => memory.apply(steps),
  });
  const limit = { name: 'api', limit: 1, window: '1h' } as const;
  expect(() => createGuard(rateLimit(limit), { store, logger: false })).not.toThrow();
  expect(await createLimiter(limit, { store, logger: false }).consume('ada')).toMatchObject({
    allowed: true,
  });
});
