/** `reset(key)` and then `consume(key)`, without `await` between them: on Redis the consume overtook the reset. */

import { createLimiter } from '@spillway/core';
import { expect, it } from 'vitest';
import { onBothStores } from './both-stores.js';

onBothStores(8, (open) => {
  it('comes before what is asked after it in the same turn', async () => {
    const { store, clock } = open();
    const options = { name: 'login', limit: 2, window: '1h' } as const;
    const limiter = createLimiter(options, { store, clock });
    await limiter.consume('ada', { cost: 2 });
    const asked = [limiter.reset('ada'), limiter.consume('ada')] as const;
    const [, { allowed, remaining }] = await Promise.all(asked);
    expect({ allowed, remaining }).toEqual({ allowed: true, remaining: 1 });
    expect((await limiter.peek('ada')).remaining).toBe(1);
  });

  it('comes after what was asked before it in the same turn', async () => {
    const { store, clock } = open();
    const options = { name: 'login', limit: 2, window: '1h' } as const;
    const limiter = createLimiter(options, { store, clock });
    const asked = [limiter.consume('ada'), limiter.reset('ada')] as const;
    const [{ remaining }] = await Promise.all(asked);
    expect(remaining).toBe(1);
    expect((await limiter.peek('ada')).remaining).toBe(2);
  });
});
