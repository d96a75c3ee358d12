/** No failure is silent: in a call of many keys on several servers the second may fail and the first not. */

import { createLimiter, memoryStore } from '@spillway/core';
import { expect, it } from 'vitest';

it('tells of a failure that is not of the first key', async () => {
  const memory = memoryStore();
  const lines: string[] = [];
  const store = {
    sync: false,
    apply: async (steps: Parameters<typeof memory.apply>[0]) =>
      memory
        .apply(steps)
        .map((answer, i) => (i === 0 ? answer : { ...answer, failure: new Error('away') })),
  };
  const limiter = createLimiter(
    { name: 'api', limit: 1, window: '1h' },
    { store, logger: { warn: (line) => lines.push(line) }, denialCache: false },
  );
  await limiter.consume('ada');
  const { decisions } = await limiter.consumeAll(['ada', 'bob']);
  expect(decisions.map(({ outcome }) => outcome)).toContain('error');
  expect(lines).toHaveLength(1);
});
