/** Which responses are stored, which parts of them, and what happens to the others. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { claimOf, memoryStore, rateLimit } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { until } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { bodyOf, charge, failingStore, type Handler, serve } from './set-up.js';

const answering =
  (status: number, fields: Record<string, string | string[]> = {}, body = 'body'): Handler =>
  async (req, res) => {
    await bodyOf(req);
    res.writeHead(status, fields).end(body);
  };

describe('an answer', () => {
  it.each([200, 201, 303, 400, 402, 404, 422, 500, 502, 599])('of %i is kept', async (status) => {
    const { post, runs } = await serve(answering(status));
    await post('key-1');
    expect(await post('key-1')).toMatchObject({ status, text: 'body', isRepeat: true });
    expect(runs()).toBe(1);
  });

  it.each([408, 425, 429, 503])('of %i is not: the request runs again', async (status) => {
    const { post, runs } = await serve(answering(status));
    await post('key-1');
    expect(await post('key-1')).toMatchObject({ status, isRepeat: false });
    expect(runs()).toBe(2);
  });

  it('of a status that nobody knows is not kept, and the request does not run again', async () => {
    const { post, runs } = await serve(answering(799));
    await post('key-1');
    expect((await post('key-1')).text).toMatch(/not stored/);
    expect(runs()).toBe(1);
  });

  it('of a guard behind it is not kept, whatever its status', async () => {
    const inner = nodeGuard(rateLimit({ name: 'inner', limit: 1, window: '1h', key: 'all' }), {
      onRejected: (_admission, _req, res) => (res as ServerResponse).writeHead(402).end('pay'),
    });
    const { post, runs } = await serve(async (req, res) => {
      if (await inner(req, res)) res.end('done');
    });
    await post('key-1');
    expect((await post('key-2')).status).toBe(402);
    expect(await post('key-2')).toMatchObject({ status: 402, isRepeat: false });
    expect(runs()).toBe(3);
  });

  it('of a handler that failed is kept as it was answered', async () => {
    const { post, runs } = await serve(() => {
      throw new Error('after the effect');
    });
    await post('key-1');
    expect(await post('key-1')).toMatchObject({ status: 500, text: 'failed', isRepeat: true });
    expect(runs()).toBe(1);
  });

  it('of a handler that failed in the middle of an answer is that of the error handler', async () => {
    const { post } = await serve((_req, res) => {
      res.setHeader('ETag', '"7"');
      res.end({} as never);
    });
    await post('key-1');
    expect(await post('key-1')).toMatchObject({ status: 500, text: 'failed', isRepeat: true });
  });

  it('whose head could not be written is that of the error handler', async () => {
    const { post } = await serve((_req, res) => {
      res.writeHead(201, { 'X-Bad': 'a\nb' });
    });
    await post('key-1');
    expect(await post('key-1')).toMatchObject({ status: 500, text: 'failed', isRepeat: true });
  });

  it('is not kept where the app says so', async () => {
    const { post, runs } = await serve(answering(400), {
      options: { keepIf: ({ status }) => status < 400 },
    });
    await post('key-1');
    expect((await post('key-1')).isRepeat).toBe(false);
    expect(runs()).toBe(2);
  });

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('bug');
      },
    ],
    ['answers later', async () => false],
    ['answers later, and rejects', () => Promise.reject(new Error('bug'))],
    ['gives a text', () => 'no'],
  ])('is kept where the app fails to say: it %s', async (_, keepIf) => {
    const { post, faults } = await serve(answering(400), { options: { keepIf: keepIf as never } });
    await post('key-1');
    expect((await post('key-1')).isRepeat).toBe(true);
    expect(faults.map(({ source }) => source)).toEqual(['keepIf']);
  });

  it('is kept with a status that says that nothing was done, where the app means something else', async () => {
    const { post, runs } = await serve(answering(503), { options: { freeOn: [425, 429] } });
    await post('key-1');
    expect(await post('key-1')).toMatchObject({ status: 503, isRepeat: true });
    expect(runs()).toBe(1);
  });

  it('keeps the fields of its body and place, and those that the app adds', async () => {
    const fields = {
      'Content-Type': 'text/plain',
      'Set-Cookie': ['a=1'],
      Link: ['</a>; rel=next', '</b>; rel=prev'],
      ETag: '"7"',
      'Content-Range': 'bytes 0-1/9',
      'X-Charge': '17',
      'X-Other': '1',
      'Retry-After': '9',
    };
    const { post } = await serve(answering(200, fields), {
      options: { keepHeaders: ['X-Charge'] },
    });
    await post('key-1');
    const { headers, isRepeat } = await post('key-1');
    expect(isRepeat).toBe(true);
    const of = (name: string) => headers.get(name);
    expect(['link', 'etag', 'content-range', 'x-charge', 'content-type'].map(of)).toEqual([
      '</a>; rel=next, </b>; rel=prev',
      '"7"',
      'bytes 0-1/9',
      '17',
      'text/plain',
    ]);
    expect(['set-cookie', 'x-other', 'retry-after'].map(of)).toEqual([null, null, null]);
  });
});

describe('an answer that cannot be given again', () => {
  const notKept = { status: 409, isRepeat: false };

  it.each([
    ['is too long', charge, { maxBody: 3 }],
    ['has a body that is not to be kept', charge, { keepBody: false }],
  ] as const)('%s: a repeat is told, and where the result is', async (_, handler, options) => {
    const { post, runs } = await serve(handler, { options });
    const first = await post('key-1');
    expect(first.status).toBe(201);
    const again = await post('key-1');
    expect(again).toMatchObject(notKept);
    expect(JSON.parse(again.text).title).toBe('Response not stored');
    expect(again.headers.get('location')).toBe('/charges/1');
    expect(again.headers.get('etag')).toBeNull();
    expect(again.headers.get('retry-after')).toBeNull();
    expect(runs()).toBe(1);
  });

  it('was dropped: it never runs again', async () => {
    const store = memoryStore({ valueBytes: 700 });
    const { post, runs } = await serve(charge, { store });
    await post('key-1');
    await post('key-2');
    await post('key-3');
    expect(await post('key-1')).toMatchObject(notKept);
    expect(runs()).toBe(3);
  });

  it('could not be written: it never runs again', async () => {
    const remote = failingStore(memoryStore());
    const set = async () => {
      throw new Error('full');
    };
    const store = { ...remote.store, values: { ...remote.store.values, set } } as never;
    const { post, runs, faults } = await serve(charge, { store });
    await post('key-1');
    await until(() => remote.calls.length === 2);
    expect(await post('key-1')).toMatchObject(notKept);
    expect(runs()).toBe(1);
    expect(faults.map(({ source }) => source)).toEqual(['store']);
  });

  it('was written by a later version', async () => {
    const store = memoryStore();
    const set = store.values.set.bind(store.values);
    store.values.set = (name, _, ttlUs) => set(name, Uint8Array.of(2, 0, 0), ttlUs);
    const { post } = await serve(charge, { store });
    await post('key-1');
    expect(await post('key-1')).toMatchObject(notKept);
  });
});

describe('a client that goes away', () => {
  it('finds the answer that its handler gave to nobody', async () => {
    let answer = (): void => undefined;
    let closed = false;
    const { post, runs } = await serve(async (req, res) => {
      await bodyOf(req);
      res.on('close', () => {
        closed = true;
      });
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      res.end('done all the same');
    });
    const leaving = new AbortController();
    const first = post('key-1', { signal: leaving.signal });
    await until(() => runs() === 1);
    leaving.abort();
    await expect(first).rejects.toThrow();
    await until(() => closed);
    expect((await post('key-1')).status).toBe(409);
    answer();
    await until(async () => (await post('key-1')).status === 200);
    expect(await post('key-1')).toMatchObject({ text: 'done all the same', isRepeat: true });
    expect(runs()).toBe(1);
  });
});

describe('keepFirst', () => {
  it('ends the connection where the response cannot be ended', async () => {
    const remote = failingStore(memoryStore());
    const { post } = await serve(
      async (req, res) => {
        await bodyOf(req);
        res.strictContentLength = true;
        res.setHeader('Content-Length', 10).end('short');
      },
      { store: remote.store, options: { keepFirst: true } },
    );
    await expect(post('key-1')).rejects.toThrow();
  });

  it('ends the response only when the answer is kept', async () => {
    const remote = failingStore(memoryStore());
    let write = (): void => undefined;
    const set: NonNullable<typeof remote.store.values>['set'] = async (...args) => {
      await new Promise<void>((resolve) => {
        write = resolve;
      });
      return remote.store.values?.set(...args);
    };
    const store = { ...remote.store, values: { ...remote.store.values, set } } as never;
    const { post, runs } = await serve(charge, { store, options: { keepFirst: true } });
    let hasEnded = false;
    const first = post('key-1').then((answer) => {
      hasEnded = true;
      return answer;
    });
    await until(() => runs() === 1);
    expect((await post('key-1')).status).toBe(409);
    expect(hasEnded).toBe(false);
    write();
    expect((await first).status).toBe(201);
    expect((await post('key-1')).isRepeat).toBe(true); // without any wait
  });
});

describe('shadow', () => {
  it('counts what would be repeated, and runs everything', async () => {
    const { post, runs, events } = await serve(charge, { options: { mode: 'shadow' } });
    await post('key-1');
    expect((await post('key-1')).status).toBe(201);
    expect(await post('a,b')).toMatchObject({ status: 201 });
    expect(runs()).toBe(3);
    expect(events.map(({ outcome }) => outcome)).toEqual(['allowed', 'would-replay', 'would-deny']);
  });
});

describe('claimOf', () => {
  it('tells a handler its key, and a token that is its own', async () => {
    const tokens: string[] = [];
    const { post } = await serve((req: IncomingMessage, res) => {
      const { key, token, signal } = claimOf(req) ?? {};
      tokens.push(`${token}`);
      res.end(`${key} ${token?.length} ${signal?.aborted}`);
    });
    expect((await post('key-1')).text).toBe('key-1 16 false');
    await post('key-2');
    expect(new Set(tokens).size).toBe(2);
    await expect(post(undefined)).resolves.toMatchObject({ text: 'undefined undefined undefined' });
  });
});
