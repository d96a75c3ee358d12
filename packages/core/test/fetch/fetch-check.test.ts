import { admissionsOf, concurrencyLimit, memoryStore, rateLimit } from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { describe, expect, it } from 'vitest';
import { ask, noting } from './fetch-set-up.js';

describe('what goes wrong around it', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    ['is async and rejects', () => Promise.reject(new Error('mine'))],
  ])('is told, when waitUntil %s, and the permit ends as ever', async (_, waitUntil) => {
    const { outcomes, limiter } = noting();
    const faults: unknown[] = [];
    const observed: unknown[] = [];
    const limits = fetchGuard(limiter, {
      waitUntil,
      onFault: (fault) => faults.push(fault),
      observers: [{ onFault: (fault) => void observed.push(fault) }],
    });
    expect(await (await limits.wrap(() => new Response('hello'))(ask())).text()).toBe('hello');
    expect(faults).toMatchObject([{ source: 'adapter', error: { message: 'mine' } }]);
    expect(observed).toEqual(faults);
    expect(outcomes).toEqual([{ status: 200, aborted: false }]);
  });

  it('leaves a response alone that cannot be copied, and holds nothing for it', async () => {
    const { outcomes, limiter } = noting();
    const limits = fetchGuard(limiter);
    const error = Response.error();
    expect(await limits.wrap(() => error)(ask())).toBe(error);
    const read = new Response('read');
    await read.text();
    expect(await limits.wrap(() => read)(ask())).toBe(read);
    expect(outcomes).toEqual([
      { status: 0, aborted: false },
      { status: 200, aborted: true },
    ]);
  });
});

describe('a check', () => {
  it('gives the refusal, or what is to be done with the final response', async () => {
    const limits = fetchGuard(rateLimit({ name: 'a', limit: 1, window: '1h', key: 'all' }));
    const first = await limits.check(ask());
    expect(first.response).toBeUndefined();
    expect(first.admission.decisions).toMatchObject([{ limiter: 'a', remaining: 0 }]);
    const fetched = await fetch('data:text/plain,hello'); // headers that cannot be changed
    const response = first.finish(fetched);
    expect(response.headers.get('ratelimit')).toBe('"a";r=0;t=3600');
    expect(await response.text()).toBe('hello');
    const second = await limits.check(ask());
    const refusal: Response | undefined = second.response; // the type in the user's project
    expect(refusal?.status).toBe(429);
  });

  it('is known to whoever holds the request', async () => {
    const limits = fetchGuard(rateLimit({ name: 'a', limit: 1, window: '1h', key: 'all' }));
    const request = ask();
    const { admission } = await limits.check(request);
    expect(admissionsOf(request)).toEqual([admission]);
  });

  it('gives nothing back twice', async () => {
    const { outcomes, limiter } = noting();
    const check = await fetchGuard(limiter).check(ask());
    check.fail();
    check.fail();
    check.finish(new Response());
    expect(outcomes).toEqual([{ aborted: false }]);
  });
});

it('gives back at close what requests in progress hold', async () => {
  const store = memoryStore();
  const one = () => fetchGuard(concurrencyLimit({ name: 'a', limit: 1, key: 'all' }), { store });
  const limits = one();
  await limits.check(ask());
  expect((await one().check(ask())).response?.status).toBe(429);
  await limits.close();
  expect((await one().check(ask())).response).toBeUndefined();
});

it.each([
  [{ trustProxy: true }, 'SPW_TRUST_PROXY_UNSAFE'],
  [{ ipv6Prefix: 1 }, 'SPW_OPTION_INVALID'],
])('refuses wrong options at once: %j', (options, code) => {
  const limiter = rateLimit({ limit: 1, window: '1h' });
  expect(() => fetchGuard(limiter, options as never)).toThrow(code);
});
