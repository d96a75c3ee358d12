/** Whatever a callback, an observer or a store throws, reporting it must not cause another failure. */

import { createGuard, createLimiter, type RateLimitOptions, rateLimit } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';

const request = {
  method: 'GET',
  path: '/',
  clientIp: '203.0.113.7',
  header: () => undefined,
  raw: undefined,
};
const logger = { warn: () => undefined };

const thrown: readonly (readonly [string, unknown])[] = [
  ['an error whose message is an object', Object.assign(new Error(), { message: { code: 'E42' } })],
  ['an error without a message', Object.assign(new Error(), { message: undefined })],
  ['an object without a prototype', Object.create(null)],
];

describe.each(thrown)('%s', (_, value) => {
  const fail = (): never => {
    throw value;
  };
  const limit = (options: Partial<RateLimitOptions>) =>
    rateLimit({ name: 'api', limit: 2, window: '1h', ...options });

  it('frees nobody when a key function throws it', async () => {
    const guard = createGuard(limit({ key: fail }), { logger: { ...logger } });
    const passed: boolean[] = [];
    for (let i = 0; i < 4; i += 1) passed.push((await guard.admit(request)).allowed);
    expect(passed).toEqual([true, true, false, false]);
  });

  it.each(['mode', 'refundIf'] as const)('harms no request when %s throws it', async (option) => {
    const guard = createGuard(limit({ [option]: fail }), { logger: { ...logger } });
    const admission = await guard.admit(request);
    expect(() => admission.release({ status: 200 })).not.toThrow();
  });

  it('harms no request when an observer throws it', () => {
    const guard = createGuard(limit({}), { logger: { ...logger }, onDecision: fail });
    expect(() => guard.admit(request)).not.toThrow();
  });

  it('does not make consume reject when a store throws it', async () => {
    const store = remoteStore({ sync: false, apply: async () => fail() });
    const limiter = createLimiter(
      { name: 'api', limit: 2, window: '1h' },
      { store, breaker: false, logger: { ...logger } },
    );
    await expect(limiter.consume('ada')).resolves.toMatchObject({ outcome: 'error' });
  });
});
