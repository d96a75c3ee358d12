/** Guards that share a store and a limit, such as those of two routes, share its count too while the store is down. */

import { createGuard, type LimitRequest, rateLimit, type Store } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { expect, it } from 'vitest';

const request: LimitRequest = {
  method: 'GET',
  path: '/',
  clientIp: '203.0.113.7',
  header: () => undefined,
  raw: undefined,
};

it('two guards of one store admit one limit between them with onStoreError local', async () => {
  const store: Store = remoteStore({ sync: false, apply: () => Promise.reject(new Error('down')) });
  const limit = () => rateLimit({ name: 'shared', limit: 3, window: '1h' });
  const options = { store, onStoreError: 'local', logger: false } as const;
  const guards = [createGuard(limit(), options), createGuard(limit(), options)];
  const admitted: boolean[] = [];
  for (let i = 0; i < 6; i += 1) {
    const admission = await guards[i % 2]?.admit(request);
    admitted.push(admission?.allowed ?? false);
  }
  expect(admitted).toEqual([true, true, true, false, false, false]);
});
