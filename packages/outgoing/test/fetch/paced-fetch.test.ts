/** Outgoing calls wait for their slot, and reach the other side as they were made. */

import { isSpillwayError } from '@spillway/core';
import { type PacedFetchOptions, pacedFetch } from '@spillway/outgoing';
import { describe, expect, it } from 'vitest';
import { FakeShaper } from './fake-shaper.js';
import { PERIOD_MS, setUp, URL_A, within } from './paced-fetch-set-up.js';
import { VirtualTime } from './virtual-time.js';

describe('the slot', () => {
  it('is taken by host and port, one period apart', async () => {
    const { time, send, shaper, calls } = setUp();
    const urls = [
      URL_A,
      new URL('https://a.example/other'),
      new Request('https://a.example:8443/'),
    ];
    await within(time, 1000, Promise.all([...urls, URL_A].map((url) => send(url))));
    expect(shaper.starts.map(({ key }) => key)).toEqual([
      'a.example',
      'a.example:8443',
      'a.example',
      'a.example',
    ]);
    expect(calls.map(({ atMs }) => atMs)).toEqual([0, 0, PERIOD_MS, 2 * PERIOD_MS]);
  });

  it('is taken by a key of your own, from the request that is to be made', async () => {
    const key = ({ method, url, headers }: Request): string | undefined =>
      headers.get('x-account') ?? (method === 'POST' ? new URL(url).pathname : undefined);
    const { time, send, shaper } = setUp([], { key });
    const request = new Request(URL_A, {
      method: 'POST',
      body: 'x',
      headers: { 'x-account': 'one' },
    });
    await within(time, 100, send(request.clone()));
    await within(time, 100, send(request.clone(), { headers: { 'x-account': 'two' } }));
    await within(time, 100, send(URL_A, { method: 'POST', body: 'x' }));
    await within(time, 100, send(URL_A));
    expect(shaper.starts.map((start) => start.key)).toEqual([
      'one',
      'two',
      '/messages',
      'a.example',
    ]);
  });

  it.each([[''], [5], [Promise.resolve('a')], [null]])(
    'is not taken for %j as a key',
    async (key) => {
      const { send, shaper } = setUp([], { key: (() => key) as () => string });
      if (key === null) return expect((await send(URL_A)).status).toBe(200);
      await expect(send(URL_A)).rejects.toMatchObject({ code: 'SPW_KEY_INVALID' });
      expect(shaper.starts).toEqual([]);
    },
  );

  it('is not taken for what fetch would not send', async () => {
    const { send, shaper } = setUp();
    await expect(send('/relative')).rejects.toThrow(TypeError);
    await expect(send(URL_A, { method: 'NO WAY' })).rejects.toThrow(TypeError);
    expect(shaper.starts).toEqual([]);
  });

  it('rejects as the shaper does where there is none', async () => {
    const { shaper, time } = setUp();
    const full = new Error('full');
    shaper.schedule = () => Promise.reject(full);
    const send = pacedFetch(shaper, { retries: 3, retryErrors: true, clock: time.clock });
    await expect(send(URL_A)).rejects.toBe(full);
  });
});

describe('the call', () => {
  it('reaches fetch with the arguments that were given, and its response comes back untouched', async () => {
    const response = new Response('hello');
    const given: unknown[] = [];
    const fetch = async (...args: unknown[]): Promise<Response> => {
      given.push(...args);
      return response;
    };
    const { time, send } = setUp([], { fetch });
    const init = { method: 'POST', body: 'x', dispatcher: {} } as RequestInit;
    expect(await within(time, 0, send(URL_A, init))).toBe(response);
    expect(response.bodyUsed).toBe(false);
    expect(given[0]).toBe(URL_A);
    expect(given[1]).toEqual({ ...init, redirect: 'manual' });
  });

  it('may be answered with anything by a fetch of yours', async () => {
    for (const answer of [undefined, { status: 429 }]) {
      const fetch = (async () => answer) as unknown as typeof globalThis.fetch;
      const { time, send } = setUp([], { fetch });
      expect(await within(time, 0, send(URL_A))).toBe(answer);
    }
  });

  it('is given up when its signal says so, before the slot and after it', async () => {
    const fetch = (_: unknown, init?: RequestInit): Promise<Response> =>
      new Promise((_resolve, reject) => {
        const { signal } = init ?? {};
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
      });
    const { time, send, shaper } = setUp([], { fetch, retries: 5, retryErrors: true });
    const [running, waiting] = [new AbortController(), new AbortController()];
    const first = send(URL_A, { signal: running.signal });
    const second = send(new Request(URL_A, { signal: waiting.signal }));
    await time.run(PERIOD_MS / 2);
    waiting.abort(new Error('no longer'));
    await expect(within(time, 0, second)).rejects.toThrow('no longer');
    running.abort(new Error('enough'));
    await expect(within(time, 0, first)).rejects.toThrow('enough');
    expect(shaper.starts).toHaveLength(1);
  });

  it('has a signal that is aborted by the timeout as well as by yours', async () => {
    const { time, send, calls } = setUp([], { timeout: '1h' });
    const mine = new AbortController();
    await within(time, 0, send(URL_A, { signal: mine.signal, headers: { a: 'b' } }));
    const init = calls[0]?.args[1] as RequestInit;
    expect(init.headers).toEqual({ a: 'b' });
    expect(init.signal?.aborted).toBe(false);
    mine.abort(new Error('mine'));
    expect(init.signal?.reason).toMatchObject({ message: 'mine' });
  });
});

describe('options', () => {
  const shaper = new FakeShaper(new VirtualTime(), PERIOD_MS);

  it.each<[string, unknown]>([
    ['key', 'host'],
    ['retries', -1],
    ['retries', 1.5],
    ['retries', 101],
    ['retryable', true],
    ['retryErrors', 1],
    ['timeout', 0],
    ['timeout', '2d'],
    ['maxPause', 'soon'],
    ['maxPause', '25h'],
    ['jitter', 1.1],
    ['xRateLimit', 'yes'],
    ['fetch', {}],
    ['onPause', {}],
    ['onFault', 'log'],
    ['logger', {}],
    ['clock', () => 0],
    ['random', 0.5],
  ])('%s cannot be %j', (name, value) => {
    const error = thrownBy(() => pacedFetch(shaper, { [name]: value } as PacedFetchOptions));
    expect(isSpillwayError(error) && error.code).toBe('SPW_OPTION_INVALID');
    expect((error as Error).message).toMatch(new RegExp(`^${name} must be`));
  });

  it.each([[undefined], [null], ['shaper'], [{}], [{ runTask: () => undefined }]])(
    'the shaper cannot be %j',
    (value) => {
      const error = thrownBy(() => pacedFetch(value as unknown as FakeShaper));
      expect(isSpillwayError(error) && error.code).toBe('SPW_OPTION_INVALID');
    },
  );

  it('are one object', () => {
    expect(thrownBy(() => pacedFetch(shaper, [] as PacedFetchOptions))).toMatchObject({
      code: 'SPW_OPTION_INVALID',
    });
  });
});

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
