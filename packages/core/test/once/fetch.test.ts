/** Idempotency keys of fetch handlers: bodies as a handler reads them, responses as they are sent. */

import { claimOf, memoryStore } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Handler, serve } from './fetch-set-up.js';

const echo: Handler = async (request, run) => new Response(`${run}: ${await request.text()}`);

describe('a fetch handler', () => {
  it('runs once for a key, and its answer is given again', async () => {
    const { text, runs } = serve(echo);
    expect(await text('key-1')).toBe('200 1: {"amount":5}');
    expect(await text('key-1')).toBe('200 1: {"amount":5} again');
    expect(await text('key-1', { body: 'other' })).toMatch(/^422/);
    expect(await text('key-1', {}, '/charges?dry=1')).toMatch(/^422/);
    expect(runs()).toBe(1);
  });

  it('keeps each header once, however keepHeaders writes its name', async () => {
    const own = { Location: '/charges/1', ETag: '"7"', 'X-Own': '1' };
    const { post } = serve(() => new Response('made', { status: 201, headers: own }), {
      keepHeaders: ['location', 'etag', 'X-Own', 'x-own'],
    });
    await (await post('key-1')).text();
    const { headers } = await post('key-1');
    const of = (name: string) => headers.get(name);
    expect(['idempotency-replayed', 'location', 'etag', 'x-own'].map(of)).toEqual([
      'true',
      '/charges/1',
      '"7"',
      '1',
    ]);
  });

  it.each([
    ['text', (request) => request.text()],
    ['json', async (request) => JSON.stringify(await request.json())],
    ['arrayBuffer', async (request) => String((await request.arrayBuffer()).byteLength)],
    ['blob', async (request) => `${(await request.blob()).type} ${(await request.blob).length}`],
    [
      'a reader',
      async (request) => {
        let text = '';
        const body = request.body as ReadableStream<Uint8Array>;
        for await (const chunk of body) text += new TextDecoder().decode(chunk);
        return text;
      },
    ],
    [
      'json after a look at its body',
      async (request) => (request.body ? JSON.stringify(await request.json()) : 'none'),
    ],
  ] as [string, (request: Request) => Promise<string>][])(
    'may read the body by %s: the bytes are compared',
    async (_, read) => {
      const { text } = serve(async (request) => new Response(await read(request)));
      const first = await text('key-1');
      expect(first).toMatch(/^200 ./);
      expect(await text('key-1')).toBe(`${first} again`);
      expect(await text('key-1', { body: '{"amount":6}' })).toMatch(/^422/);
    },
  );

  it('may read a form', async () => {
    const { text } = serve(async (request) => {
      const form = await request.formData();
      return new Response(`amount ${form.get('amount')}`);
    });
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const form = { body: 'amount=5', headers };
    expect(await text('key-1', form)).toBe('200 amount 5');
    expect(await text('key-1', form)).toBe('200 amount 5 again');
    expect(await text('key-1', { ...form, body: 'amount=6' })).toMatch(/^422/);
  });

  it('may read a clone, and then the body', async () => {
    const { text } = serve(async (request) => {
      const copy = await request.clone().text();
      let own = '';
      const body = request.body as ReadableStream<Uint8Array>;
      for await (const chunk of body) own += new TextDecoder().decode(chunk);
      return new Response(`${copy} ${own}`);
    });
    expect(await text('key-1')).toBe('200 {"amount":5} {"amount":5}');
    expect(await text('key-1', { body: '{"amount":6}' })).toMatch(/^422/);
  });

  it('may read nothing: a repeat with any body is the same', async () => {
    const { text } = serve(() => new Response('unread'));
    expect(await text('key-1')).toBe('200 unread');
    expect(await text('key-1', { body: '{"amount":6}' })).toBe('200 unread again');
  });

  it('sees the same request, and what reads it twice fails as ever', async () => {
    const { post } = serve(async (request) => {
      expect(request).toBeInstanceOf(Request);
      expect(claimOf(request)?.key).toBe('key-1');
      await request.text();
      expect(request.bodyUsed).toBe(true);
      await expect(request.text()).rejects.toThrow(TypeError);
      return new Response('ok');
    });
    expect((await post('key-1')).status).toBe(200);
  });

  it('may answer with a stream; the bytes are kept as they are sent', async () => {
    const { post, text, runs } = serve(() => {
      const stream = new ReadableStream({
        start(controller) {
          for (const part of ['a', 'b', 'c']) controller.enqueue(new TextEncoder().encode(part));
          controller.close();
        },
      });
      return new Response(stream, { status: 202, headers: { Link: '</x>; rel=next' } });
    });
    expect(await text('key-1')).toBe('202 abc');
    const again = await post('key-1');
    expect([again.status, again.headers.get('link')]).toEqual([202, '</x>; rel=next']);
    expect(await again.text()).toBe('abc');
    expect(runs()).toBe(1);
  });

  it('may answer with a long stream, which is not held up and not kept', async () => {
    const { post, text, runs } = serve(
      () => {
        let sent = 0;
        const stream = new ReadableStream({
          pull(controller) {
            sent += 1;
            if (sent > 100) controller.close();
            else controller.enqueue(new Uint8Array(1_000));
          },
        });
        return new Response(stream);
      },
      { maxBody: 10_000 },
    );
    const first = await post('key-1');
    const reader = (first.body as ReadableStream<Uint8Array>).getReader();
    expect((await reader.read()).value).toHaveLength(1_000);
    expect(await text('key-1')).toMatch(/^409.*in progress/);
    while (!(await reader.read()).done);
    expect(await text('key-1')).toMatch(/^409.*not stored/);
    expect(runs()).toBe(1);
  });

  it('may answer without a body, and to HEAD', async () => {
    const { post, text } = serve(() => new Response(null, { status: 204 }), {
      methods: ['POST', 'HEAD'],
    });
    expect((await post('key-1')).status).toBe(204);
    expect(await text('key-1')).toBe('204  again');
    expect((await post('key-2', { method: 'HEAD', body: null })).status).toBe(204);
    expect((await post('key-2', { method: 'HEAD', body: null })).status).toBe(204);
  });

  it('is heard to its end though its client has gone', async () => {
    const leaving = new AbortController();
    const { post, text, runs } = serve(() => {
      leaving.abort();
      return new Response('to nobody');
    });
    await post('key-1', { signal: leaving.signal }).catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await text('key-1')).toBe('200 to nobody again');
    expect(runs()).toBe(1);
  });

  it('is heard to its end though its body was cancelled', async () => {
    const { post, text } = serve(() => new Response('a'.repeat(10)));
    const first = await post('key-1');
    await first.body?.cancel();
    expect(await text('key-1')).toBe('200 aaaaaaaaaa again');
  });

  it('has its answer kept before it is sent, where the app says so', async () => {
    const memory = memoryStore();
    const order: string[] = [];
    const store = remoteStore({
      sync: false as const,
      apply: async (steps: Parameters<typeof memory.apply>[0]) => {
        order.push(steps.map(({ op }) => op).join());
        return memory.apply(steps);
      },
      values: memory.values,
    });
    const { post } = serve(
      () => new Response(null, { status: 204 }),
      { keepFirst: true },
      { store },
    );
    await post('key-1');
    order.push('sent');
    expect(order).toEqual(['take', 'done', 'sent']);
  });
});

describe('the body of a repeat', () => {
  const half = { duplex: 'half' } as RequestInit;

  it('is read up to 10 MiB', async () => {
    const { text } = serve(echo);
    await text('key-1', { body: 'x' });
    let sent = 0;
    let cancelled = false;
    const body = new ReadableStream({
      pull(controller) {
        sent += 1;
        controller.enqueue(new Uint8Array(2 ** 20));
      },
      cancel() {
        cancelled = true;
      },
    });
    expect(await text('key-1', { ...half, body })).toMatch(/^413.*too large/);
    expect([sent <= 13, cancelled]).toEqual([true, true]);
  });

  it('is waited for 5 s', async () => {
    const { text } = serve(echo);
    await text('key-1', { body: 'x' });
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const body = new ReadableStream({ pull: () => new Promise(() => undefined) });
    const late = text('key-1', { ...half, body });
    await vi.advanceTimersByTimeAsync(5_001);
    expect(await late).toMatch(/^408.*in time/);
  });
});
