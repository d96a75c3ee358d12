/** A reset that the store did not answer is no reset: whoever asked for it must learn so. */

import { createLimiter, memoryStore, SpillwayError, type Step, type Store } from '@spillway/core';
import { expect, it } from 'vitest';

it('one call that times out is rejected, or told', async () => {
  const memory = memoryStore();
  const store: Store = {
    sync: false,
    apply: async (steps: readonly Step[]) => {
      if (steps.some(({ op }) => op === 'reset')) {
        throw new SpillwayError('SPW_STORE_TIMEOUT', 'no answer');
      }
      return memory.apply(steps);
    },
  };
  const lines: string[] = [];
  const logger = { warn: (line: string) => void lines.push(line) };
  const limiter = createLimiter(
    { name: 'login', limit: 1, window: '1h' },
    { store, logger, denialCache: false },
  );
  await limiter.consume('ada');
  const failed = await Promise.resolve(limiter.reset('ada')).then(
    () => false,
    () => true,
  );
  expect((await limiter.consume('ada')).allowed).toBe(false);
  expect(failed || lines.length > 0).toBe(true);
});
