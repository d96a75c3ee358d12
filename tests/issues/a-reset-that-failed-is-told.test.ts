/** A reset that the store did not answer has failed, and its caller must learn that. */

import { createLimiter, memoryStore, SpillwayError, type Step, type Store } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { expect, it } from 'vitest';

it('is false where the call times out', async () => {
  const memory = memoryStore();
  const store: Store = remoteStore({
    sync: false,
    apply: async (steps: readonly Step[]) => {
      if (steps.some(({ op }) => op === 'reset')) {
        throw new SpillwayError('SPW_STORE_TIMEOUT', 'no answer');
      }
      return memory.apply(steps);
    },
  });
  const limiter = createLimiter(
    { name: 'login', limit: 1, window: '1h' },
    { store, logger: false, denialCache: false },
  );
  await limiter.consume('ada');
  expect(await limiter.reset('ada')).toBe(false);
  expect((await limiter.consume('ada')).allowed).toBe(false);
  expect(await createLimiter({ name: 'logout', limit: 1, window: '1h' }).reset('ada')).toBe(true);
});
