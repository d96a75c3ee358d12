import { concurrencyLimit, rateLimit } from '@spillway/core';
import { held } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { setUp } from './guard-set-up.js';

const two = concurrencyLimit({ name: 'two', limit: 2, random: () => 0.5 });
const perMinute = rateLimit({ name: 'rate', limit: 3, window: '1m' });

describe('a limit on concurrent requests', () => {
  it('refuses one too many with 429, its own policy and no promise', () => {
    const { admit } = setUp(two);
    expect(admit().fields).toEqual([
      ['RateLimit-Policy', '"two";q=2;qu="concurrent-requests"'],
      ['RateLimit', '"two";r=1'],
    ]);
    admit();
    const refused = admit();
    expect(refused).toMatchObject({
      status: 429,
      binding: { reason: 'concurrency', outcome: 'denied', retryAfterMs: 2000 },
      fields: [
        ['RateLimit-Policy', '"two";q=2;qu="concurrent-requests"'],
        ['RateLimit', '"two";r=0'],
        ['Retry-After', '2'],
        ['Cache-Control', 'no-store'],
        ['Content-Type', 'application/problem+json'],
      ],
    });
    expect(JSON.parse(refused.body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota exceeded',
      status: 429,
      detail: 'You have too many requests in progress under policy "two". Wait for one to finish.',
      'violated-policies': ['two'],
    });
  });

  it('frees a permit when the request is over, once', () => {
    const { admit, store } = setUp(two);
    const first = admit();
    admit();
    first.release({ status: 200 });
    first.release({ aborted: true });
    expect(held(store)).toBe(1);
    expect(admit().allowed).toBe(true);
    expect(admit().allowed).toBe(false);
  });

  it('counts keys apart', () => {
    const { admit } = setUp(
      concurrencyLimit({ name: 'one', limit: 1, key: (of) => of.header('x-user') }),
    );
    expect(admit({ headers: { 'x-user': 'ada' } }).allowed).toBe(true);
    expect(admit({ headers: { 'x-user': 'bob' } }).allowed).toBe(true);
    expect(admit({ headers: { 'x-user': 'ada' } }).allowed).toBe(false);
  });

  it('takes no permit for what another limit refuses, and charges nobody for what it refuses', () => {
    const { admit, store } = setUp([two, perMinute]);
    for (let i = 0; i < 3; i += 1) admit().release({});
    const refused = admit();
    expect(refused).toMatchObject({ allowed: false, binding: { limiter: 'rate' }, pending: false });
    expect(held(store)).toBe(0);

    const other = setUp([two, perMinute]);
    other.admit();
    other.admit();
    expect(other.admit().decisions[1]).toMatchObject({ limiter: 'rate', remaining: 1 });
  });

  it('has no legacy fields of its own', () => {
    const { admit } = setUp([two, perMinute], { headers: ['legacy'] });
    expect(admit().fields[0]).toEqual(['X-RateLimit-Limit', '3']);
  });

  it('may differ from request to request', () => {
    const limit = concurrencyLimit({
      name: 'plan',
      limit: (of) => Number(of.header('x-limit')),
      defaultLimit: 1,
    });
    const { admit, faults } = setUp(limit);
    const five = { headers: { 'x-limit': '5' } };
    for (let i = 0; i < 5; i += 1) expect(admit(five).allowed).toBe(true);
    expect(admit(five).allowed).toBe(false);
    expect(admit({ clientIp: '203.0.113.8' }).allowed).toBe(true);
    expect(faults).toMatchObject([{ limiter: 'plan', source: 'limit' }]);
  });

  it('in shadow holds permits, refuses nobody, and shows nothing', () => {
    const { admit, store } = setUp(concurrencyLimit({ name: 'two', limit: 1, mode: 'shadow' }));
    const first = admit();
    const second = admit();
    expect(second).toMatchObject({
      allowed: true,
      fields: [],
      decisions: [{ outcome: 'would-deny', reason: 'concurrency' }],
    });
    expect(held(store)).toBe(1);
    second.release({});
    expect(held(store)).toBe(1);
    first.release({});
    expect(held(store)).toBe(0);
  });

  it.each<[string, object, RegExp]>([
    ['a limit of 0', { limit: 0 }, /SPW_LIMIT_INVALID/],
    ['a limit function without a default', { limit: () => 3 }, /SPW_LIMIT_INVALID/],
    ['an empty key', { limit: 1, key: '' }, /SPW_KEY_INVALID/],
    ['a lease of half a second', { limit: 1, lease: '500ms' }, /SPW_OPTION_INVALID/],
    ['a lease of two days', { limit: 1, lease: '2d' }, /SPW_OPTION_INVALID/],
    ['a lease that is none', { limit: 1, lease: 'soon' }, /SPW_OPTION_INVALID/],
    ['a share of 0', { limit: 1, localShare: 0 }, /SPW_OPTION_INVALID/],
    ['a mode that is none', { limit: 1, mode: 'on' }, /SPW_OPTION_INVALID/],
  ])('refuses %s', (_, options, error) => {
    expect(() => concurrencyLimit(options as never)).toThrow(error);
  });
});
