/** A memory store that is frozen, full or spied on decides and reports as usual. */

import { createGuard, createLimiter, memoryStore, rateLimit, type Store } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { request } from 'spillway-testkit';
import { expect, it } from 'vitest';

const limit = { name: 'api', limit: 2, window: '1h' } as const;
const quiet = { logger: false } as const;

it('counts when it is frozen and full', () => {
  const store = Object.freeze(memoryStore({ maxEntries: 1 }));
  const limiter = createLimiter(limit, { store, ...quiet });
  limiter.consume('ada');
  const outcomes = [1, 2, 3].map(() => limiter.consume('eve').outcome);
  expect(outcomes).toEqual(['allowed', 'allowed', 'denied']);
  expect(store.overflowed).toBe(3);
});

it('counts each decision that overflows once, however many limits a request has', () => {
  const store = memoryStore({ maxEntries: 1 });
  createLimiter({ ...limit, name: 'first' }, { store }).consume('ada');
  const limiters = ['per-hour', 'per-day'].map((name) => rateLimit({ ...limit, name, key: 'eve' }));
  const guard = createGuard(limiters, { store });
  guard.admit(request());
  expect(store.overflowed).toBe(2);
});

it('is asked through the `apply` that it has now', () => {
  const store = memoryStore();
  const limiter = createLimiter(limit, { store, ...quiet, onStoreError: 'deny' });
  expect(limiter.consume('ada').outcome).toBe('allowed');
  Object.assign(store, {
    apply: () => {
      throw new Error('down');
    },
  });
  expect(limiter.consume('ada')).toMatchObject({ outcome: 'error', reason: 'store-error' });
});

it.each([undefined, [], [{}]])(
  'is checked behind remoteStore if its `apply` answers %j',
  (answers) => {
    const store: Store = remoteStore(
      Object.assign(memoryStore(), { apply: () => answers as never }),
    );
    const limiter = createLimiter(limit, { store, ...quiet, onStoreError: 'deny' });
    expect(limiter.consume('ada')).toMatchObject({ outcome: 'error', reason: 'store-error' });
  },
);
