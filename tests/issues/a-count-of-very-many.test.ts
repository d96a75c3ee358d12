/** The largest counts: the parser of ioredis reads integers above 2^53 - 58 wrong. */

import { calendar, createLimiter } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { onBothStores } from './both-stores.js';

describe('a calendar that counts beyond its limit, as far as it can', () => {
  onBothStores(10, (open) => {
    it('answers as before', async () => {
      const limiter = createLimiter(
        { name: 'quota', limit: 3, window: calendar('day'), overage: 'allow' },
        { store: open().store, logger: false },
      );
      const granted = await limiter.consume('ada');
      await limiter.record('ada', { cost: Number.MAX_SAFE_INTEGER });
      const { used } = await limiter.peek('ada');
      expect(used).toBe(2 ** 51);
      const free = { outcome: 'allowed', over: true, used };
      expect(await limiter.consume('ada', { cost: 0 })).toMatchObject(free);
      expect(await limiter.consume('ada')).toMatchObject(free);
      expect(await limiter.refund(granted)).toBe(true);
      expect((await limiter.peek('ada')).used).toBe(used - 1);
    });
  });
});
