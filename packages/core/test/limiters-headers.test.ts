/** The headers of decisions without HTTP are those that a guard sends for the same limits. */

import {
  createGuard,
  createLimiters,
  type HeaderStyle,
  memoryControl,
  memoryStore,
  rateLimit,
  rateLimitHeaders,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

const user = { limit: 3, window: '1m' } as const;
const tenant = { limit: 5, window: '1h' } as const;

/** The same limits twice, each with a separate store. */
function both(styles?: readonly HeaderStyle[]) {
  const clock = new ManualClock(Date.now() * 1_000);
  const limiters = createLimiters(
    { user, tenant },
    { store: memoryStore({ clock }), headers: rateLimitHeaders(styles) },
  );
  const guard = createGuard(
    [
      rateLimit({ name: 'user', ...user, key: () => 'ada' }),
      rateLimit({ name: 'tenant', ...tenant, key: () => 'acme' }),
    ],
    { store: memoryStore({ clock }), ...(styles && { headers: styles }) },
  );
  return { limiters, guard, keys: { user: 'ada', tenant: 'acme' } };
}

describe.each([[undefined], [['draft-6']], [['draft-11', 'legacy']], [[]]] as const)(
  'in the styles %j',
  (styles) => {
    it('are those of a guard, but for those of its body', async () => {
      const { limiters, guard, keys } = both(styles);
      for (let i = 0; i < 5; i += 1) {
        const { headers: expected } = await guard.admit(request());
        const { headers, allowed } = limiters.consume(keys);
        const ofBody = ['Cache-Control', 'Content-Type'];
        expect(headers).toEqual(expected.filter(([name]) => !ofBody.includes(name)));
        expect(allowed).toBe(i < 3);
      }
    });
  },
);

describe('the headers of a decision', () => {
  it('are none without the option', () => {
    expect(createLimiters({ user }).consume({ user: 'ada' }).headers).toEqual([]);
  });

  it('tell of the alternative that was charged, and of a look', () => {
    const { limiters, keys } = both();
    const other = { ...keys, user: 'bob' };
    limiters.consume(keys, { cost: { user: 3 } });
    const sent = limiters.consumeFirst([keys, other]);
    const text = Object.fromEntries(sent.headers)['RateLimit'];
    expect(text).toMatch(/^"user";r=2;t=\d+, "tenant";r=3;t=\d+$/);
    expect(Object.fromEntries(limiters.peek(other).headers)['RateLimit']).toBe(text);
  });

  it('do not show a limit in shadow, nor one that is off', () => {
    const control = memoryControl();
    const headers = rateLimitHeaders();
    const limits = { user, tenant: { ...tenant, mode: 'shadow' } } as const;
    const limiters = createLimiters(limits, { control, headers, store: memoryStore() });
    const keys = { user: 'ada', tenant: 'acme' };
    const shown = () => Object.fromEntries(limiters.consume(keys).headers)['RateLimit'];
    expect(shown()).toMatch(/^"user";r=2;t=\d+$/);
    control.set('user', { mode: 'off' }, { by: 'ada', because: 'a test' });
    expect(shown()).toBeUndefined();
  });

  it.each([
    [() => rateLimitHeaders(['draft-5'] as never), 'headers must be a list of'],
    [() => rateLimitHeaders(['draft-6', 'draft-11']), 'not both'],
    [
      () => createLimiters({ user }, { headers: ['draft-11'] as never }),
      'headers must be made by rateLimitHeaders()',
    ],
  ])('must be written by rateLimitHeaders()', (act, message) => {
    expect(act).toThrow(message);
  });
});
