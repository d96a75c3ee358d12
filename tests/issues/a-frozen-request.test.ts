/**
 * A request that cannot be marked is limited like any other: it passes, is reported, and is rejected above the limit.
 */

import { concurrencyLimit, type Fault, rateLimit } from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { expect, it } from 'vitest';

const frozen = () => Object.freeze(new Request('http://a.example/'));

it('passes the fetch guard with a fault, and counts', async () => {
  const faults: Fault[] = [];
  const limits = fetchGuard(rateLimit({ name: 'one', limit: 1, window: '1h', key: 'all' }), {
    onFault: (fault) => faults.push(fault),
  });
  const handler = limits.wrap(() => new Response('hello'));
  const response = await handler(frozen());
  expect(await response.text()).toBe('hello');
  expect(response.headers.get('ratelimit')).toMatch(/^"one";r=0;/);
  expect((await handler(frozen())).status).toBe(429);
  expect(faults).toMatchObject([1, 2].map(() => ({ limiter: '', source: 'adapter' })));
});

it('gives its permit back', async () => {
  const limits = fetchGuard(concurrencyLimit({ name: 'one', limit: 1, key: 'all' }), {
    onFault: () => undefined,
  });
  const handler = limits.wrap(() => new Response('hello'));
  for (let turn = 0; turn < 3; turn += 1) {
    expect(await (await handler(frozen())).text()).toBe('hello');
    expect(limits.inProgress).toBe(0);
  }
});
