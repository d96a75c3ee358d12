import { concurrencyLimit, memoryControl, rateLimit } from '@spillway/core';
import { held } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { setUp } from './guard-set-up.js';

const two = concurrencyLimit({ name: 'two', limit: 2, random: () => 0.5 });
const perMinute = rateLimit({ name: 'rate', limit: 3, window: '1m' });

describe('a limit on concurrent requests', () => {
  it('refuses one too many with 429, its own policy and no promise', () => {
    const { admit } = setUp(two);
    expect(admit().headers).toEqual([
      ['RateLimit-Policy', '"two";q=2;qu="concurrent-requests"'],
      ['RateLimit', '"two";r=1'],
    ]);
    admit();
    const refused = admit();
    expect(refused).toMatchObject({
      status: 429,
      binding: { reason: 'concurrency', outcome: 'denied', retryAfterMs: 2000 },
      headers: [
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
      detail:
        'You can have only 2 requests in progress at once under policy "two". ' +
        'Run 2 workers on a queue instead of retrying.',
      'violated-policies': ['two'],
    });
  });

  it('names one request, and the limit that is set live', () => {
    const control = memoryControl();
    const { admit } = setUp(two, { control });
    control.set('two', { limits: { limit: 1 } }, { by: 'ada', because: 'a test' });
    admit();
    expect(JSON.parse(admit().body).detail).toBe(
      'You can have only 1 request in progress at once under policy "two". ' +
        'Run 1 worker on a queue instead of retrying.',
    );
  });

  // docs/guide.md, "Requests in progress": 20 at once beside 100 a second are 200 ms.
  it.each([
    [250, 'concurrency'],
    [200, 'concurrency'],
    [100, 'rate'],
  ])('beside a rate, refuses first if requests take longer: %i ms', (tookMs, first) => {
    const { clock, admit } = setUp([
      concurrencyLimit({ name: 'in-flight', limit: 20 }),
      rateLimit({ name: 'rate', limit: 100, window: '1s', burst: 500 }),
    ]);
    const reasons = new Set<string | null>();
    const ends: { atMs: number; release: () => void }[] = [];
    for (let ms = 0; ms < 20_000; ms += 10) {
      while (ends[0] && ends[0].atMs <= ms) ends.shift()?.release();
      let admission = admit();
      for (; admission.allowed; admission = admit()) {
        const passed = admission;
        ends.push({ atMs: ms + tookMs, release: () => passed.release({ status: 200 }) });
      }
      reasons.add(admission.binding?.reason ?? null);
      clock.advance('10ms');
    }
    expect(reasons).toEqual(new Set(first === 'rate' ? ['concurrency', 'rate'] : ['concurrency']));
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
    expect(admit().headers[0]).toEqual(['X-RateLimit-Limit', '3']);
  });

  it('may differ from request to request', () => {
    const limit = concurrencyLimit({
      name: 'plan',
      limit: 1,
      plan: (of) => ({ limit: Number(of.header('x-limit')) }),
    });
    const { admit, faults } = setUp(limit);
    const five = { headers: { 'x-limit': '5' } };
    for (let i = 0; i < 5; i += 1) expect(admit(five).allowed).toBe(true);
    expect(admit(five).allowed).toBe(false);
    expect(admit({ clientIp: '203.0.113.8' }).allowed).toBe(true);
    expect(faults).toMatchObject([{ limiter: 'plan', source: 'plan' }]);
  });

  it('in shadow holds permits, refuses nobody, and shows nothing', () => {
    const { admit, store } = setUp(concurrencyLimit({ name: 'two', limit: 1, mode: 'shadow' }));
    const first = admit();
    const second = admit();
    expect(second).toMatchObject({
      allowed: true,
      headers: [],
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
    ['a limit that is a function', { limit: () => 3 }, /SPW_LIMIT_INVALID/],
    ['a plan that is no function', { limit: 1, plan: { limit: 3 } }, /SPW_OPTION_INVALID/],
    ['an empty key', { limit: 1, key: '' }, /SPW_KEY_INVALID/],
    ['a lease of half a second', { limit: 1, lease: '500ms' }, /SPW_OPTION_INVALID/],
    ['a lease of two days', { limit: 1, lease: '2d' }, /SPW_OPTION_INVALID/],
    ['a lease that is none', { limit: 1, lease: 'soon' }, /SPW_OPTION_INVALID/],
    ['a lease of null', { limit: 1, lease: null as never }, /SPW_OPTION_INVALID/],
    ['a share of 0', { limit: 1, localShare: 0 }, /SPW_OPTION_INVALID/],
    ['a mode that is none', { limit: 1, mode: 'on' }, /SPW_OPTION_INVALID/],
  ])('refuses %s', (_, options, error) => {
    expect(() => concurrencyLimit(options as never)).toThrow(error);
  });
});
