/** A store outlives limiters and guards that a handler makes, and does not keep them, or what their callbacks use. */

import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createGuard, createLimiter, memoryStore, rateLimit } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { expect, it } from 'vitest';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const options = { name: 'api', limit: 5, window: '1m' } as const;

/** Some objects may outlive a collection, because the stack or a cache of the engine still refers to them. */
const FEW = 5;

/** How many of 100 requests are still in memory after `use` has used a limiter whose callback refers to the request. */
async function kept(use: (settings: object) => Promise<unknown>): Promise<number> {
  const observers = [{ onBreaker: () => undefined }];
  const memory = memoryStore();
  const store = remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
  const alive: WeakRef<object>[] = [];
  for (let at = 0; at < 100; at += 1) {
    const request = { big: new Uint8Array(100_000) };
    alive.push(new WeakRef(request));
    await use({ store, validate: false, observers, onFault: () => request });
  }
  let count = alive.length;
  for (let i = 0; i < 50 && count >= FEW; i += 1) {
    await turn();
    collect();
    count = alive.filter((ref) => ref.deref()).length;
  }
  expect(await createLimiter(options, { store }).consume('other')).toMatchObject({ allowed: true });
  return count;
}

it('a limiter', async () => {
  expect(
    await kept(async (settings) => createLimiter(options, settings).consume('ada')),
  ).toBeLessThan(FEW);
});

it('a guard', async () => {
  const request = { method: 'GET', path: '/', clientIp: '192.0.2.1', header: () => undefined };
  const use = async (settings: object) =>
    createGuard(rateLimit(options), settings).admit({ ...request, raw: undefined });
  expect(await kept(use)).toBeLessThan(FEW);
});
