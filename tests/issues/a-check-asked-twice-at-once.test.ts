/** "Asked again about the same object, it says the same and counts nothing": also before the store has answered. */

import { memoryStore, rateLimit } from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { remoteStore } from '@spillway/core/store';
import { expect, it } from 'vitest';

it('counts a request once that is checked twice at once', async () => {
  const memory = memoryStore();
  const store = remoteStore({
    sync: false,
    apply: async (steps: Parameters<typeof memory.apply>[0]) => memory.apply(steps),
  });
  const guard = fetchGuard(rateLimit({ name: 'api', limit: 10, window: '1h', key: 'all' }), {
    store,
    logger: false,
  });
  const request = new Request('http://localhost/');
  const [one, other] = await Promise.all([guard.check(request), guard.check(request)]);
  expect(other.admission).toBe(one.admission);
});
