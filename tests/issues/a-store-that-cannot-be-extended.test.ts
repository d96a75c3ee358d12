/**
 * State about a store is kept outside of it, because a store may be frozen, a proxy, or an object with private fields.
 */

import { createGuard, createLimiter, memoryStore, rateLimit, type Step } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { request } from 'spillway-testkit';
import { expect, it } from 'vitest';

const plain = () => {
  const memory = memoryStore();
  return remoteStore({ sync: false, apply: async (steps: readonly Step[]) => memory.apply(steps) });
};

class WithPrivateFields {
  readonly sync = false;
  readonly #memory = memoryStore();

  async apply(steps: readonly Step[]) {
    return this.#memory.apply(steps);
  }
}

const STORES = {
  'frozen object': () => Object.freeze(plain()),
  'frozen memory store': () => Object.freeze(memoryStore()),
  'object with private fields': () => remoteStore(new WithPrivateFields()),
  'frozen object with private fields': () => Object.freeze(remoteStore(new WithPrivateFields())),
  'proxy of one': () => {
    const store = remoteStore(new WithPrivateFields());
    return new Proxy(store, {
      get: (target, name) =>
        name === 'apply' ? target.apply.bind(target) : Reflect.get(target, name),
      set: () => false,
      defineProperty: () => false,
    });
  },
};

it.each(Object.entries(STORES))('takes a store that is a %s', async (_, make) => {
  const store = make();
  const limit = { name: 'api', limit: 2, window: '1h' } as const;
  const guard = createGuard(rateLimit({ ...limit, key: 'ada' }), { store, logger: false });
  const limiter = createLimiter(limit, { store, logger: false });
  expect(await limiter.consume('ada')).toMatchObject({ outcome: 'allowed', remaining: 1 });
  expect(await guard.admit(request())).toMatchObject({ allowed: true });
  for (let i = 0; i < 2; i += 1) {
    expect(await limiter.consume('ada')).toMatchObject({ outcome: 'denied' });
    expect(await guard.admit(request())).toMatchObject({ allowed: false });
  }
  // A key that the limiter has reset passes the guard: both identify the store by its object.
  await limiter.reset('ada');
  expect(await guard.admit(request())).toMatchObject({ allowed: true });
});
