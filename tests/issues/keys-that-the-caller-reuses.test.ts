/**
 * A caller that emptied or refilled its list of keys before the store had answered, as batches do, got a rejected
 * promise instead of a decision.
 */

import { createLimiter, memoryStore } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { expect, it } from 'vitest';

it.each(['consumeAll', 'record', 'peek'] as const)(
  '%s decides on the keys of the call',
  async (op) => {
    const clock = new ManualClock();
    const memory = memoryStore({ clock });
    const store = remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
    const limiter = createLimiter({ name: 'mails', limit: 5, window: '1h' }, { store, clock });
    const batch = ['ada', 'bob', 'ada'];
    const call = limiter[op](batch);
    batch.length = 0;
    const { allowed, decisions } = await call;
    expect(allowed).toBe(true);
    expect(decisions).toHaveLength(3);
    expect(decisions[2]).toBe(decisions[0]);
  },
);
