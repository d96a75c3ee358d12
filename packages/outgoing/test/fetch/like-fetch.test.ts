/** As `fetch` does, `pacedFetch` sends what the arguments were at the call, however they change while it waits. */

import { createShaper, pacedFetch } from '@spillway/outgoing';
import { describe, expect, it } from 'vitest';
import { PERIOD_MS, setUp, URL_A, within } from './paced-fetch-set-up.js';

/** A `fetch` that reads what it must send when it is called, as the runtime's does. */
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

  it.each<[string, () => [body: object, change: () => void], before: string]>([
    [
      'a FormData',
      () => {
        const form = new FormData();
        form.append('file', new Blob(['before']), 'a.txt');
        return [form, () => form.delete('file')];
      },
      'before',
    ],
    [
      'an ArrayBuffer',
      () => {
        const bytes = Buffer.from('before');
        const { buffer } = new Uint8Array(bytes);
        return [buffer, () => new Uint8Array(buffer).fill(0)];
      },
      'before',
    ],
    [
      'a part of a buffer',
      () => {
        const bytes = Buffer.from('at, before, after').subarray(4, 10);
        return [bytes, () => bytes.fill(0)];
      },
      'before',
    ],
  ])('where the body is %s that is filled anew', async (_, make, before) => {
    const { sent, fetch } = recorder();
    const { time, send } = setUp([], { fetch });
    const [body, change] = make();
    const calls = [send(URL_A), send(URL_A, { method: 'POST', body: body as ArrayBuffer })];
    change();
    await within(time, PERIOD_MS, Promise.all(calls));
    expect(await sent[1]?.text()).toContain(before);
  });

  it('where one Request is changed for the next call', async () => {
    const { sent, fetch } = recorder();
    const { time, send } = setUp([], { fetch });
    const request = new Request(URL_A);
    const calls = ['ada', 'bob'].map((user) => {
      request.headers.set('authorization', user);
      return send(request);
    });
    await within(time, PERIOD_MS, Promise.all(calls));
    expect(sent.map(({ headers }) => headers.get('authorization'))).toEqual(['ada', 'bob']);
  });

  it('where a Request is sent on to another address, as proxies do', async () => {
    const { sent, fetch } = recorder();
    const { time, send } = setUp([], { fetch, timeout: '1h' });
    const got = new Request('https://me.example/', {
      method: 'POST',
      headers: { 'x-account': 'ada' },
      body: 'text',
    });
    await within(time, 0, send(URL_A, got as RequestInit));
    const [request] = sent as [Request];
    expect([request.url, request.method]).toEqual([URL_A, 'POST']);
    expect(request.headers.get('x-account')).toBe('ada');
    expect(await request.text()).toBe('text');
  });

  it('and a Request whose body was sent already is refused, as by fetch', async () => {
    const { time, send } = setUp();
    const request = new Request(URL_A, { method: 'POST', body: 'text' });
    await within(time, 0, send(request));
    await expect(send(request)).rejects.toThrow(TypeError);
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
    const key = () => expect.unreachable();
    const { time, send, shaper } = setUp([], { key });
    expect((await within(time, 0, send(url))).status).toBe(200);
    expect(shaper.starts).toEqual([]);
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

  it.each<[string, () => number]>([
    ['throws', () => Number('x').toFixed(-1) as unknown as number],
    ['answers what is no share', () => Number.NaN],
  ])('and its pause holds, though `random` %s', async (_, random) => {
    const faults: unknown[] = [];
    const onFault = (fault: unknown) => void faults.push(fault);
    const { time, send, pauses } = setUp([[429]], { random, onFault });
    expect((await within(time, 0, send(URL_A))).status).toBe(429);
    expect(pauses()).toEqual(['a.example: 1000']);
    expect(faults).toEqual([{ limiter: 'fake', source: 'observer', error: expect.any(Error) }]);
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

  it('the error itself, where there is no slot for a repetition', async () => {
    const shaper = createShaper({ limit: 1, window: '1h', maxWait: 0 });
    const error = new TypeError('fetch failed');
    const fetch = () => Promise.reject(error);
    await expect(pacedFetch(shaper, { fetch, retries: 1, retryErrors: true })(URL_A)).rejects.toBe(
      error,
    );
    await shaper.close();
  });

  it('not the 429, where somebody gives up while the repetition waits', async () => {
    const cancelled: number[] = [];
    const fetch = async () => {
      const body = new ReadableStream({
        cancel: () => void cancelled.push(time.nowMs() - beginMs),
      });
      return new Response(body, { status: 429, headers: { 'retry-after': '9' } });
    };
    const { time, send } = setUp([], { fetch, retries: 1 });
    const beginMs = time.nowMs();
    const abort = new AbortController();
    const call = send(URL_A, { signal: abort.signal });
    await time.run(500);
    expect(cancelled).toEqual([]);
    abort.abort(new Error('no longer'));
    await expect(within(time, 0, call)).rejects.toThrow('no longer');
    expect(cancelled).toEqual([500]);
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
