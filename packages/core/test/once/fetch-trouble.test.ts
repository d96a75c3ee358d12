/** Fetch handlers that fail, and requests that cannot be watched: what was done is not done again. */

import { idempotency } from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { describe, expect, it } from 'vitest';
import { serve } from './fetch-set-up.js';

describe('a fetch handler', () => {
  it('that throws is done, and does not run again', async () => {
    const { post, text, runs } = serve(() => {
      throw new Error('after the effect');
    });
    await expect(post('key-1')).rejects.toThrow('after the effect');
    expect(await text('key-1')).toMatch(/^409.*not kept/);
    expect(runs()).toBe(1);
  });

  it('that throws once its client has gone is done too', async () => {
    const leaving = new AbortController();
    const { post, text, runs } = serve(() => {
      leaving.abort();
      throw new Error('after the effect');
    });
    await expect(post('key-1', { signal: leaving.signal })).rejects.toThrow('after the effect');
    expect(await text('key-1')).toMatch(/^409.*not kept/);
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
    expect(await text('key-1')).toMatch(/^409.*not kept/);
    expect(runs()).toBe(1);
  });

  it('that answers with an error of the network is done', async () => {
    const { post, text, runs } = serve(() => Response.error());
    await post('key-1');
    expect(await text('key-1')).toMatch(/^409.*not kept/);
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
    expect(await send()).toMatch(/^409.*not kept/);
    expect(runs).toEqual(['x']);
  });
});
