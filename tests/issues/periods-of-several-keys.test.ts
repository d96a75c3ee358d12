/** Calls with several keys, or that record, report no fault if the period is right. */

import { calendar, createLimiter, createLimiters, type Fault, memoryStore } from '@spillway/core';
import { expect, it } from 'vitest';

it('reports a fault for a wrong period only, once for each key', () => {
  const faults: Fault[] = [];
  const settings = {
    store: memoryStore(),
    logger: false,
    onFault: (fault: Fault) => faults.push(fault),
  } as const;
  const period = { id: 'a', start: Date.now() - 1_000, end: Date.now() + 86_400_000 };
  const window = calendar(() => period);
  const limiter = createLimiter({ name: 'quota', limit: 9, window }, settings);
  const granted = limiter.consume('ada', { period });
  limiter.consumeAll(['ada', 'bob', 'ada'], { period });
  limiter.record('ada', { period });
  limiter.peek(['ada', 'bob'], { period });
  limiter.refund(granted);
  limiter.reset('bob');
  const limits = createLimiters({ quota: { limit: 9, window } }, settings);
  limits.consumeFirst([{ quota: 'ada' }, { quota: 'bob' }], { period: { quota: period } });
  expect(faults).toEqual([]);
  limiter.consumeAll(['ada', 'bob', 'ada']);
  expect(faults).toHaveLength(2);
});
