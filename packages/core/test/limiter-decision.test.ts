/** A decision of a limit without HTTP is plain data, however it was made; and a memory store may be spied on. */

import { createLimiter, memoryStore } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { expect, it, vi } from 'vitest';

const numbers = { name: 'ten', limit: 10, window: '10s' } as const;
const fields = {
  limiter: 'ten',
  allowed: true,
  outcome: 'allowed',
  reason: null,
  cost: 1,
  used: 1,
  remaining: 9,
  retryAfterMs: 0,
  resetMs: 1000,
  policy: { name: 'ten', unit: 'requests', limit: 10, windowMs: 10_000, burst: 10 },
};

it('shows all fields of a grant in one order, where it is copied and where it is written', () => {
  const limiter = createLimiter(numbers, { clock: new ManualClock() });
  const decision = limiter.consume('ada');
  expect({ ...decision }).toEqual(fields);
  expect(structuredClone(decision)).toEqual(fields);
  expect(JSON.stringify(decision)).toBe(JSON.stringify(fields));
  expect(Object.keys(limiter.peek('bob'))).toEqual(Object.keys(fields));
});

it('asks a memory store by its `apply` where somebody has replaced it', () => {
  const store = memoryStore();
  const apply = vi.spyOn(store, 'apply');
  const limiter = createLimiter(numbers, { store });
  expect(limiter.consume('ada')).toMatchObject({ allowed: true });
  expect(apply).toHaveBeenCalledTimes(1);
  apply.mockImplementation(() => {
    throw new Error('no memory');
  });
  expect(limiter.consume('ada')).toMatchObject({ outcome: 'error' });
});
