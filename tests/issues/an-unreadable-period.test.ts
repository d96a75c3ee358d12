/** A billing period that cannot be read is a wrong one: the limit goes on, and a fault is reported. */

import {
  type BillingPeriod,
  calendar,
  createGuard,
  createLimiter,
  type Fault,
  rateLimit,
} from '@spillway/core';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

/** Like `Temporal.Instant`: it does not convert to a number. */
class Instant {
  valueOf(): never {
    throw new TypeError('use compare');
  }
}

const thrower = new Proxy({}, { get: () => expect.fail('read') });

describe.each([
  ['with instants', { id: 'a', start: new Instant(), end: new Instant() }],
  ['with symbols', { id: 'a', start: Symbol('start'), end: Symbol('end') }],
  ['that throws', { id: 'a', start: thrower, end: thrower }],
])('a period %s', (_, given) => {
  const period = given as unknown as BillingPeriod;
  const faults: Fault[] = [];
  const settings = { logger: false, onFault: (fault: Fault) => faults.push(fault) } as const;
  const options = { name: 'quota', limit: 1, window: calendar(() => period) };

  it('limits a key without requests', () => {
    faults.length = 0;
    const limiter = createLimiter(options, settings);
    expect(limiter.consume('ada', { period }).allowed).toBe(true);
    expect(limiter.consume('ada', { period }).allowed).toBe(false);
    expect(faults.map(({ source }) => source)).toEqual(['period', 'period']);
  });

  it('limits requests', async () => {
    faults.length = 0;
    const guard = createGuard([rateLimit(options)], settings);
    expect((await guard.admit(request())).allowed).toBe(true);
    expect((await guard.admit(request())).allowed).toBe(false);
    expect(faults.map(({ source }) => source)).toEqual(['period', 'period']);
  });
});
