/** A store outlives guards, and keeps none that was closed. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { concurrencyLimit, createGuard, memoryStore } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { delay } from 'spillway-testkit';
import { expect, it } from 'vitest';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

it('a guard with permits', async () => {
  const memory = memoryStore();
  const store = remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
  let count = 0;
  const freed = new FinalizationRegistry(() => {
    count -= 1;
  });
  const once = async () => {
    const data = { big: new Uint8Array(100_000) };
    const limiter = concurrencyLimit({ name: 'calls', limit: 100, key: 'all' });
    const guard = createGuard(limiter, { store, logger: false, onFault: () => data });
    freed.register(data, undefined);
    count += 1;
    const request = { method: 'GET', path: '/', clientIp: '192.0.2.1', header: () => undefined };
    const admission = await guard.admit({ ...request, raw: undefined });
    await admission.release({ status: 200 });
    await guard.close();
  };
  for (let at = 0; at < 20; at += 1) await once();
  for (let i = 0; i < 50 && count > 1; i += 1) {
    await delay(5);
    collect();
  }
  expect(count).toBeLessThan(3);
});
