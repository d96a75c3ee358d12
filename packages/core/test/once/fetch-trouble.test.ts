/** Fetch handlers that fail, and requests that cannot be watched: completed work is not done again. */

import { idempotency } from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { describe, expect, it } from 'vitest';
import { serve } from './fetch-set-up.js';

const BYTES = new TextEncoder().encode('abcd').buffer as ArrayBuffer;

function streamOf(parts: readonly unknown[]): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

/** Reads a body as it is: Node's own methods read only bytes, but other runtimes send texts too. */
async function chunksOf({ body }: Response): Promise<unknown[]> {
  const chunks: unknown[] = [];
  for await (const chunk of body as ReadableStream<unknown>) chunks.push(chunk);
  return chunks;
}

describe('a fetch handler', () => {
  it('that throws is done, and does not run again', async () => {
    const { post, text, runs } = serve(() => {
      throw new Error('after the effect');
    });
    await expect(post('key-1')).rejects.toThrow('after the effect');
    expect(await text('key-1')).toMatch(/^409.*not stored/);
    expect(runs()).toBe(1);
  });

  it('that throws once its client has gone is done too', async () => {
    const leaving = new AbortController();
    const { post, text, runs } = serve(() => {
      leaving.abort();
      throw new Error('after the effect');
    });
    await expect(post('key-1', { signal: leaving.signal })).rejects.toThrow('after the effect');
    expect(await text('key-1')).toMatch(/^409.*not stored/);
    expect(runs()).toBe(1);
  });

  it('whose stream fails is done, and its answer is not kept', async () => {
    const { post, text, runs } = serve(() => {
      const parts = [new TextEncoder().encode('part')];
      const stream = new ReadableStream({
        pull(controller) {
          const part = parts.pop();
          if (part) controller.enqueue(part);
          else controller.error(new Error('in the middle'));
        },
      });
      return new Response(stream);
    });
    await expect((await post('key-1')).text()).rejects.toThrow('in the middle');
    expect(await text('key-1')).toMatch(/^409.*not stored/);
    expect(runs()).toBe(1);
  });

  it.each<[string, unknown[], string]>([
    ['texts', ['id=', '17 \u00e9'], 'id=17 \u00e9'],
    ['views of bytes', [new Uint16Array([0x6261]), new DataView(BYTES, 1, 2)], 'abbc'],
    ['buffers of bytes', [BYTES], 'abcd'],
  ])(
    'may stream %s, where the runtime sends them: they are kept as sent',
    async (_, parts, all) => {
      const { post, text } = serve(() => new Response(streamOf(parts), { status: 201 }));
      expect(await chunksOf(await post('key-1'))).toEqual(parts);
      expect(await text('key-1')).toBe(`201 ${all} again`);
    },
  );

  it.each([5, null, { a: 1 }])(
    'whose stream has other chunks is done, and its answer is not kept: %j',
    async (part) => {
      const { post, text, runs } = serve(() => new Response(streamOf(['a', part])));
      expect(await chunksOf(await post('key-1'))).toEqual(['a', part]);
      expect(await text('key-1')).toMatch(/^409.*not stored/);
      expect(runs()).toBe(1);
    },
  );

  it('that answers with an error of the network is done', async () => {
    const { post, text, runs } = serve(() => Response.error());
    await post('key-1');
    expect(await text('key-1')).toMatch(/^409.*not stored/);
    expect(runs()).toBe(1);
  });

  it('that answers with a body that was read is done, and does not run again', async () => {
    const { post, text, runs } = serve(async () => {
      const answer = new Response('17', { headers: { Location: '/charges/17' } });
      await answer.text();
      return answer;
    });
    await expect((await post('key-1')).text()).rejects.toThrow('already been read');
    const again = await post('key-1');
    expect([again.status, again.headers.get('location')]).toEqual([409, '/charges/17']);
    expect(await text('key-1')).toMatch(/^409.*not stored/);
    expect(runs()).toBe(1);
  });

  it('whose request is aborted while its answer is still read fails for the reader, and is kept', async () => {
    const leaving = new AbortController();
    const { post, text, runs } = serve(() => {
      const parts = ['a', 'b', 'c', 'd'];
      const stream = new ReadableStream({
        pull(controller) {
          const part = parts.shift();
          if (part) controller.enqueue(new TextEncoder().encode(part));
          else controller.close();
        },
      });
      return new Response(stream);
    });
    const reader = (await post('key-1', { signal: leaving.signal })).body?.getReader();
    await reader?.read();
    leaving.abort();
    const rest = async (): Promise<void> => {
      while (!(await reader?.read())?.done);
    };
    await expect(rest()).rejects.toMatchObject({
      message: 'the request was aborted',
      code: 'ERR_STREAM_PREMATURE_CLOSE',
    });
    expect(await text('key-1')).toBe('200 abcd again');
    expect(runs()).toBe(1);
  });

  it('is done though its request cannot be watched', async () => {
    const guard = fetchGuard<Request>(idempotency({ scope: () => 'ada' }), { logger: false });
    const runs: string[] = [];
    const fetch = guard.wrap(async (request: Request) => {
      runs.push(await request.text());
      return new Response('done');
    });
    const headers = { 'Idempotency-Key': 'key-1' };
    const send = async () => {
      const request = new Request('http://a.example/', { method: 'POST', body: 'x', headers });
      const response = await fetch(Object.freeze(request));
      return `${response.status} ${await response.text()}`;
    };
    expect(await send()).toBe('200 done');
    expect(await send()).toMatch(/^409.*not stored/);
    expect(runs).toEqual(['x']);
  });

  it('is done once its client has left a long stream', async () => {
    const { post, text } = serve(
      () => new Response(new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(1_000)) })),
      { maxBody: 10_000 },
    );
    const first = await post('key-1');
    await first.body?.cancel();
    expect(await text('key-1')).toMatch(/^409.*not stored/);
  });

  it.each([
    ['as a whole', (request) => request.json()],
    [
      'by pieces',
      async (request) => {
        for await (const _ of request.body as ReadableStream<Uint8Array>);
      },
    ],
  ] as [string, (request: Request) => Promise<unknown>][])(
    'that refused a body that broke off runs when all of it comes: read %s',
    async (_, read) => {
      const { text, runs } = serve(async (request) => {
        const isRead = await read(request).then(
          () => true,
          () => false,
        );
        return new Response(null, { status: isRead ? 204 : 400 });
      });
      const body = new ReadableStream({ pull: (to) => to.error(new Error('the client is gone')) });
      expect(await text('key-1', { body, duplex: 'half' } as RequestInit)).toMatch(/^400/);
      expect(await text('key-1')).toMatch(/^204/);
      expect(runs()).toBe(2);
    },
  );

  it('that reads a body twice, and refuses it for that, is repeated', async () => {
    const { text, runs } = serve(async (request) => {
      const reader = (request.body as ReadableStream<Uint8Array>).getReader();
      await reader.read();
      await request.json().catch(() => undefined);
      return new Response('bad', { status: 400 });
    });
    await text('key-1');
    expect(await text('key-1')).toBe('400 bad again');
    expect(runs()).toBe(1);
  });
});
