/** From the admission to the end of the body: released once, whatever happened. */

import { once } from 'node:events';
import type { HttpBindings } from '@hono/node-server';
import {
  concurrencyLimit,
  type RequestOutcome,
  type ResponseEnd,
  rateLimit,
  spillway,
} from '@spillway/hono';
import { Hono } from 'hono';
import { stream } from 'hono/streaming';
import { describe, expect, it } from 'vitest';
import { noting } from './noting.js';
import { type Get, listen, until, WAYS } from './service.js';
import { SlowStore } from './stores.js';

/** Asks until the status is as expected, one request after the other. */
async function eventually(get: Get, expected: number): Promise<void> {
  const seen: number[] = [];
  while (seen.at(-1) !== expected) {
    if (seen.length > 200) throw new Error(`never ${expected}: ${seen}`);
    seen.push((await get()).status);
  }
}

/** A body that a test writes by hand. */
function manual(): { body: ReadableStream; write(text: string): void; end(): void; gone: boolean } {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const made = {
    body: readable,
    gone: false,
    write: (text: string) => void writer.write(new TextEncoder().encode(text)).catch(() => {}),
    end: () => void writer.close().catch(() => {}),
  };
  writer.closed.catch(() => {
    made.gone = true;
  });
  return made;
}

describe.each(WAYS)('over $way', ({ serve }) => {
  it('releases when the body of the answer has been read', async () => {
    const { outcomes, guard } = noting();
    const app = new Hono();
    app.use(guard);
    app.get('/', (c) => c.text('hello'));
    app.get('/empty', (c) => c.body(null, 204));
    const get = await serve(app);
    expect((await get()).body).toBe('hello');
    await until(() => outcomes.length === 1);
    expect((await get('/empty')).status).toBe(204);
    await until(() => outcomes.length === 2);
    expect(outcomes).toEqual([
      { status: 200, aborted: false },
      { status: 204, aborted: false },
    ]);
  });

  it('lets a stream through as it is written, and releases at its end', async () => {
    const { outcomes, guard } = noting();
    const app = new Hono();
    app.get('/', guard, (c) =>
      stream(c, async (out) => {
        for (const chunk of ['one ', 'two ', 'three']) {
          expect(outcomes).toEqual([]);
          await out.write(chunk);
        }
      }),
    );
    const get = await serve(app);
    expect((await get()).body).toBe('one two three');
    await until(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ status: 200, aborted: false }]);
  });

  it('releases at once for HEAD, whose body Hono throws away', async () => {
    const { outcomes, guard } = noting();
    const app = new Hono();
    app.use(guard);
    app.get('/', (c) => c.text('hello'));
    const get = await serve(app);
    expect((await get('/', { method: 'HEAD' })).body).toBe('');
    await until(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ status: 200, aborted: false }]);
  });

  it('tells the status that the error handler gave to a handler that failed', async () => {
    const { outcomes, guard } = noting();
    const app = new Hono();
    app.use(guard);
    app.get('/now', () => {
      throw new Error('thrown');
    });
    app.get('/later', () => Promise.reject(new Error('rejected')));
    app.onError((error, c) => c.text(error.message, 503));
    const get = await serve(app);
    expect(await get('/now')).toMatchObject({ status: 503, body: 'thrown' });
    expect(await get('/later')).toMatchObject({ status: 503, body: 'rejected' });
    await until(() => outcomes.length === 2);
    expect(outcomes).toEqual([
      { status: 503, aborted: false },
      { status: 503, aborted: false },
    ]);
  });

  it('holds the permit of a request until its body is over, and frees it for the next', async () => {
    const app = new Hono();
    const source = manual();
    app.use(spillway(concurrencyLimit({ name: 'one', limit: 1, key: 'all' })));
    app.get('/held', (c) => c.body(source.body));
    app.get('/', (c) => c.text('hello'));
    const get = await serve(app);
    const held = get('/held');
    source.write('begun');
    await eventually(get, 429);
    source.end();
    expect((await held).body).toBe('begun');
    await eventually(get, 200);
    await eventually(get, 200);
  });

  it('counts failures only, where the app says what a success is', async () => {
    const app = new Hono();
    const limiter = rateLimit({
      limit: 2,
      window: '1h',
      key: 'all',
      refundIf: ({ status, aborted }) => status === 200 && !aborted,
    });
    app.get('/:status', spillway(limiter), (c) =>
      c.body('x', Number(c.req.param('status')) as 200),
    );
    const get = await serve(app);
    const statuses: number[] = [];
    for (const path of ['/200', '/200', '/200', '/401', '/200', '/401', '/401', '/200']) {
      statuses.push((await get(path)).status);
      await new Promise(setImmediate);
    }
    expect(statuses).toEqual([200, 200, 200, 401, 200, 401, 429, 429]);
  });
});

describe('a client of node:http that goes away', () => {
  it('before the answer frees the permit at once; the outcome has no status', async () => {
    const { outcomes, guard } = noting();
    const app = new Hono();
    let finish: () => void = () => undefined;
    app.get('/', guard, async (c) => {
      await new Promise<void>((resolve) => {
        finish = resolve;
        client.destroy();
      });
      return c.text('too late');
    });
    const client = (await listen(app)).open();
    await until(() => outcomes.length > 0);
    finish();
    await new Promise(setImmediate);
    expect(outcomes).toEqual([{ aborted: true }]);
  });

  it('in the middle of a stream frees it too, and cancels the stream', async () => {
    const { outcomes, guard } = noting();
    const source = manual();
    const app = new Hono();
    app.get('/', guard, (c) => c.body(source.body));
    const client = (await listen(app)).open();
    source.write('begun');
    const [response] = await once(client, 'response');
    response.on('error', () => undefined);
    client.destroy();
    await until(() => outcomes.length > 0 && source.gone);
    expect(outcomes).toEqual([{ status: 200, aborted: true }]);
  });

  it('while the store is asked is not answered, and keeps nothing', async () => {
    const { outcomes, limiter } = notingLimiter();
    const store = new SlowStore();
    let gone = false;
    const app = new Hono<{ Bindings: HttpBindings }>();
    app.use((c, next) => {
      c.env.outgoing.once('close', () => {
        gone = true;
      });
      return next();
    });
    app.get('/', spillway(limiter, { store, storeTimeout: '10s' }), () => {
      throw new Error('handled');
    });
    const client = (await listen(app)).open();
    await until(() => store.calls.length === 1);
    client.destroy();
    await until(() => gone);
    store.answer();
    await until(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ aborted: true }]);
  });
});

describe('a client of an edge runtime that goes away', () => {
  const ask = (app: Hono, signal: AbortSignal) =>
    app.request(new Request('http://a.example/', { signal }));

  it('before the answer frees the permit at once; what is answered later changes nothing', async () => {
    const { outcomes, guard } = noting();
    const app = new Hono();
    const client = new AbortController();
    app.get('/', guard, async (c) => {
      client.abort();
      expect(outcomes).toEqual([{ aborted: true }]);
      return c.text('too late');
    });
    expect(await (await ask(app, client.signal)).text()).toBe('too late');
    expect(outcomes).toEqual([{ aborted: true }]);
  });

  it('in the middle of a stream frees it once, though both the signal and the stream tell', async () => {
    const { outcomes, guard } = noting();
    const source = manual();
    const app = new Hono();
    const client = new AbortController();
    app.get('/', guard, (c) => c.body(source.body));
    const { body } = await ask(app, client.signal);
    const reader = body?.getReader();
    source.write('begun');
    await reader?.read();
    expect(outcomes).toEqual([]);
    await reader?.cancel();
    client.abort();
    await until(() => source.gone);
    expect(outcomes).toEqual([{ status: 200, aborted: true }]);
  });

  it('while the store is asked is not answered, and keeps nothing', async () => {
    const { outcomes, limiter } = notingLimiter();
    const store = new SlowStore();
    const app = new Hono();
    const client = new AbortController();
    app.get('/', spillway(limiter, { store, storeTimeout: '10s' }), () => {
      throw new Error('handled');
    });
    const response = ask(app, client.signal);
    client.abort();
    store.answer();
    expect((await response).status).toBe(499);
    expect(outcomes).toEqual([{ aborted: true }]);
  });
});

function notingLimiter() {
  const outcomes: ResponseEnd[] = [];
  const refundIf = ({ durationMs: _, ...end }: RequestOutcome): boolean => {
    outcomes.push(end);
    return false;
  };
  const limiter = rateLimit({ name: 'a', limit: 9, window: '1h', key: 'all', refundIf });
  return { outcomes, limiter };
}
