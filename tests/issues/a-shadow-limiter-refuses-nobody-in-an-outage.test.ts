/** A limiter in shadow mode whose store fails rejects nobody, and metrics do not count its requests as rejected. */

import { createGuard, type LimitRequest, type OnStoreError, rateLimit } from '@spillway/core';
import { Tally } from '@spillway/core/adapter';
import { brokenStore } from 'spillway-testkit';
import { expect, it } from 'vitest';

const request: LimitRequest = {
  method: 'GET',
  path: '/',
  clientIp: '203.0.113.7',
  header: () => undefined,
  raw: undefined,
};

/** The reasons that the metrics have for two requests under a limit of one. */
async function reasons(onStoreError: OnStoreError, mode: 'enforce' | 'shadow'): Promise<string[]> {
  const tally = new Tally();
  const limit = rateLimit({ name: 'api', limit: 1, window: '1h', mode });
  const guard = createGuard(limit, {
    store: { ...brokenStore },
    onStoreError,
    observers: [tally],
    logger: false,
  });
  await guard.admit(request);
  await guard.admit(request);
  return [...tally.decisions()].map(({ labels }) => labels.reason);
}

it.each([
  ['deny', 'enforce', ['store-error']],
  ['deny', 'shadow', ['']],
  ['local', 'enforce', ['', 'rate']],
  ['local', 'shadow', ['']],
  ['allow', 'enforce', ['']],
] as const)('onStoreError %s in mode %s has the reasons %j', async (policy, mode, expected) => {
  expect(await reasons(policy, mode)).toEqual(expected);
});
