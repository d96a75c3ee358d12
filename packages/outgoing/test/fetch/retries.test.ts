/** Calls are repeated only where the app asked for it and a repeat does no damage. Each repeat waits for a slot. */

import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type Answer, setUp, URL_A, within } from './paced-fetch-set-up.js';

const REFUSED: Answer = [429, { 'retry-after': '2' }];
const BROKEN = new TypeError('fetch failed');

describe('a refused call', () => {
  it('is not repeated by default', async () => {
    const { time, send, calls } = setUp([REFUSED]);
    expect((await within(time, 9000, send(URL_A))).status).toBe(429);
    expect(calls).toHaveLength(1);
  });

  it('is repeated after the pause, as often as was said', async () => {
    const { time, send, calls } = setUp([REFUSED, [503, { 'retry-after': '3' }], REFUSED], {
      retries: 2,
    });
    expect((await within(time, 9000, send(URL_A))).status).toBe(429);
    expect(calls.map(({ atMs }) => atMs)).toEqual([0, 2000, 5000]);
  });

  it.each([[200], [404], [500], [502]])('is not one that was answered with %i', async (status) => {
    const { time, send, calls } = setUp([[status]], { retries: 3 });
    expect((await within(time, 9000, send(URL_A))).status).toBe(status);
    expect(calls).toHaveLength(1);
  });

  it('leaves its response to nobody: the body is cancelled', async () => {
    const cancelled: number[] = [];
    let made = 0;
    const fetch = async (): Promise<Response> => {
      const call = made;
      made += 1;
      const body = new ReadableStream({ cancel: () => void cancelled.push(call) });
      return new Response(body, { status: 429 });
    };
    const { time, send } = setUp([], { fetch, retries: 2 });
    const response = await within(time, 9000, send(URL_A));
    expect(cancelled).toEqual([0, 1]);
    expect(response.body?.locked).toBe(false);
  });

  it.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])('is repeated with %s', async (method) => {
    const { time, send, calls } = setUp([REFUSED], { retries: 1 });
    const body = method === 'PUT' ? { body: 'text' } : {};
    expect((await within(time, 9000, send(URL_A, { method, ...body }))).status).toBe(200);
    expect(calls).toHaveLength(2);
  });

  it.each(['POST', 'PATCH'])('is repeated with %s only if you say so', async (method) => {
    for (const [options, count] of [
      [{ retries: 1 }, 1],
      [{ retries: 1, retryable: (request: Request) => request.method === method }, 2],
    ] as const) {
      const { time, send, calls } = setUp([REFUSED], options);
      await within(time, 9000, send(URL_A, { method, body: 'text' }));
      expect(calls).toHaveLength(count);
    }
  });

  it('is not repeated if retryable is async, and a rejection of it ends no process', async () => {
    const retryable = () => Promise.reject(new Error('mine'));
    const { time, send, calls } = setUp([REFUSED], { retries: 1, retryable: retryable as never });
    await within(time, 9000, send(URL_A));
    expect(calls).toHaveLength(1);
  });

  it.each<[string, () => Parameters<typeof fetch>]>([
    [
      'a web stream',
      () => [
        URL_A,
        { method: 'PUT', body: new Blob(['x']).stream(), duplex: 'half' } as RequestInit,
      ],
    ],
    [
      'a stream of Node',
      () => [URL_A, { method: 'PUT', body: Readable.from(['x']), duplex: 'half' } as never],
    ],
    ['a Request that has one', () => [new Request(URL_A, { method: 'PUT', body: 'text' })]],
  ])('is never repeated with a body that can be read once: %s', async (_, args) => {
    const { time, send, calls } = setUp([REFUSED], { retries: 1, retryable: () => true });
    await within(time, 9000, send(...args()));
    expect(calls).toHaveLength(1);
  });

  it('is repeated with a Request whose body is given beside it', async () => {
    const { time, send, calls } = setUp([REFUSED], { retries: 1 });
    const request = new Request(URL_A, { method: 'PUT' });
    await within(time, 9000, send(request, { body: 'text' }));
    expect(calls).toHaveLength(2);
  });
});

describe('a call without an answer', () => {
  it('fails at once by default', async () => {
    const { time, send, calls } = setUp([BROKEN], { retries: 3 });
    await expect(within(time, 0, send(URL_A))).rejects.toBe(BROKEN);
    expect(calls).toHaveLength(1);
  });

  it('is repeated in its slot where that was asked for, and fails with the last error', async () => {
    const last = new TypeError('the last');
    const { time, send, calls } = setUp([BROKEN, BROKEN, last], { retries: 2, retryErrors: true });
    await expect(within(time, 9000, send(URL_A))).rejects.toBe(last);
    expect(calls.map(({ atMs }) => atMs)).toEqual([0, 100, 200]);
  });

  it.each(['AbortError', 'TimeoutError'])('is not repeated after an %s', async (name) => {
    const { time, send, calls } = setUp([new DOMException('over', name)], {
      retries: 2,
      retryErrors: true,
    });
    await expect(within(time, 9000, send(URL_A))).rejects.toMatchObject({ name });
    expect(calls).toHaveLength(1);
  });
});
