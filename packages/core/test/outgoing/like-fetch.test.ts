/** Where `pacedFetch` says that it is `fetch`: the same arguments, whatever happens to them while the call waits. */

import { createShaper } from '@spillway/core';
import { pacedFetch } from '@spillway/core/fetch';
import { describe, expect, it } from 'vitest';
import { PERIOD_MS, setUp, URL_A, within } from './paced-fetch-set-up.js';

/** A `fetch` that notes what is sent when it is called, as the runtime's would. */
function recorder() {
  const sent: Request[] = [];
  const fetch = async (...args: ConstructorParameters<typeof Request>): Promise<Response> => {
    sent.push(new Request(...args));
    return new Response(null);
  };
  return { sent, fetch };
}

describe('what a call is made of is what it was when it was made', () => {
  it('where one URL is changed for the next call', async () => {
    const { sent, fetch } = recorder();
    const { time, send } = setUp([], { fetch });
    const url = new URL(URL_A);
    const calls = ['1', '2', '3'].map((page) => {
      url.searchParams.set('page', page);
      return send(url);
    });
    await within(time, 3 * PERIOD_MS, Promise.all(calls));
    expect(sent.map((request) => new URL(request.url).search)).toEqual([
      '?page=1',
      '?page=2',
      '?page=3',
    ]);
  });

  it('where one URL is sent to another host meanwhile: the slot was of the first', async () => {
    const { sent, fetch } = recorder();
    const { time, send } = setUp([], { fetch });
    const url = new URL(URL_A);
    const calls = [send(url), send(url)];
    url.host = 'b.example';
    await within(time, 2 * PERIOD_MS, Promise.all(calls));
    expect(sent.map((request) => new URL(request.url).host)).toEqual(['a.example', 'a.example']);
  });

  it('where one Headers is changed for the next call', async () => {
    const { sent, fetch } = recorder();
    const { time, send } = setUp([], { fetch });
    const headers = new Headers();
    const calls = ['ada', 'bob', 'cyd'].map((user) => {
      headers.set('authorization', user);
      return send(URL_A, { headers });
    });
    await within(time, 3 * PERIOD_MS, Promise.all(calls));
    expect(sent.map((request) => request.headers.get('authorization'))).toEqual([
      'ada',
      'bob',
      'cyd',
    ]);
  });

  it('where one body is changed for the next call', async () => {
    const { sent, fetch } = recorder();
    const { time, send } = setUp([], { fetch });
    const body = new URLSearchParams();
    const calls = ['1', '2', '3'].map((amount) => {
      body.set('amount', amount);
      return send(URL_A, { method: 'POST', body });
    });
    await within(time, 3 * PERIOD_MS, Promise.all(calls));
    expect(await Promise.all(sent.map((request) => request.text()))).toEqual([
      'amount=1',
      'amount=2',
      'amount=3',
    ]);
  });

  it('where the fields can be read once', async () => {
    const { sent, fetch } = recorder();
    const { time, send } = setUp([], { fetch });
    const headers = new Map([['authorization', 'ada']]).entries();
    await within(time, 0, send(URL_A, { headers: headers as unknown as [string, string][] }));
    expect(sent[0]?.headers.get('authorization')).toBe('ada');
  });
});

it.each(['data:text/plain,hi', 'blob:nodedata:1'])(
  '%s has no host, and needs no slot of one',
  async (url) => {
    const { time, send } = setUp();
    expect((await within(time, 0, send(url))).status).toBe(200);
  },
);

it.each([2.5, '1.0005s'] as const)(
  'a timeout of %s, which is accepted, fails no call',
  async (timeout) => {
    const { time, send } = setUp([], { timeout });
    expect((await within(time, 0, send(URL_A))).status).toBe(200);
  },
);

describe('a response comes back', () => {
  it.each([
    ['an object', {}],
    ['a Map', new Map()],
    ['a get that throws', { get: () => Number('x').toFixed(-1) }],
  ])('though its fields are none: %s', async (_, headers) => {
    const fetch = async () => ({ status: 200, headers }) as unknown as Response;
    const { time, send } = setUp([], { fetch, logger: false });
    expect((await within(time, 0, send(URL_A))).status).toBe(200);
  });

  it('though `random` throws', async () => {
    const random = () => {
      throw new Error('mine');
    };
    const { time, send } = setUp([[429]], { random, logger: false });
    expect((await within(time, 0, send(URL_A))).status).toBe(429);
  });

  it('the 429 itself, where a repetition would wait longer than maxWait', async () => {
    const shaper = createShaper({ limit: 1000, window: '1s', maxWait: '30s' });
    const headers = { 'retry-after': '45' };
    const fetch = async () => new Response('too many', { status: 429, headers });
    const response = await pacedFetch(shaper, { fetch, retries: 1 })(URL_A);
    expect(response.status).toBe(429);
    expect(await response.text()).toBe('too many');
    await shaper.close();
  });

  it('after a refusal whose body is cancelled without a promise', async () => {
    let made = 0;
    const fetch = async () => {
      made += 1;
      const status = made === 1 ? 503 : 200;
      return { status, headers: new Headers(), body: { cancel() {} } } as unknown as Response;
    };
    const { time, send } = setUp([], { fetch, retries: 1 });
    expect((await within(time, 9000, send(URL_A))).status).toBe(200);
  });
});
