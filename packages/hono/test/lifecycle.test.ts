/** From the admission to the end of the body: the permit is released exactly once, whatever happens. */

import { remoteStore } from '@spillway/core/store';
import {
  concurrencyLimit,
  type RequestOutcome,
  type ResponseEnd,
  rateLimit,
  spillway,
} from '@spillway/hono';
import { Hono } from 'hono';
import { SlowStore, until } from 'spillway-testkit';
import {
  closing,
  departures,
  lifecycle,
  meters,
  metersCut,
  noting,
} from 'spillway-testkit/adapters';
import type { Service } from 'spillway-testkit/http';
import { describe, expect, it } from 'vitest';
import { WAYS } from './service.js';

/** Sends one request after another until a response has the expected status. */
async function eventually(get: Service['get'], expected: number): Promise<void> {
  const seen: number[] = [];
  while (seen.at(-1) !== expected) {
    if (seen.length > 200) throw new Error(`never ${expected}: ${seen}`);
    seen.push((await get()).status);
  }
}

/** A body whose parts and end the test decides. */
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

describe.each(WAYS)('over %s', (_, { driver }) => {
  lifecycle(driver);
  meters(driver);
  closing(driver);
});

describe.each(WAYS)('over %s', (_, { serve, driver }) => {
  it('releases when the body of the answer has been read', async () => {
    const { outcomes, guard } = noting(driver);
    const app = new Hono();
    app.use(guard);
    app.get('/', (c) => c.text('hello'));
    app.get('/empty', (c) => c.body(null, 204));
    const { get } = await serve(app);
    expect((await get()).body).toBe('hello');
    await until(() => outcomes.length === 1);
    expect((await get('/empty')).status).toBe(204);
    await until(() => outcomes.length === 2);
    expect(outcomes).toEqual([
      { status: 200, aborted: false },
      { status: 204, aborted: false },
    ]);
  });

  it('releases at once for HEAD, whose body Hono throws away', async () => {
    const { outcomes, guard } = noting(driver);
    const app = new Hono();
    app.use(guard);
    app.get('/', (c) => c.text('hello'));
    const { get } = await serve(app);
    expect((await get('/', { method: 'HEAD' })).body).toBe('');
    await until(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ status: 200, aborted: false }]);
  });

  it('holds the permit of a request until its body is over, and frees it for the next', async () => {
    const app = new Hono();
    const source = manual();
    app.use(spillway(concurrencyLimit({ name: 'one', limit: 1, key: 'all' })));
    app.get('/held', (c) => c.body(source.body));
    app.get('/', (c) => c.text('hello'));
    const { get } = await serve(app);
    const held = get('/held');
    source.write('begun');
    await eventually(get, 429);
    source.end();
    expect((await held).body).toBe('begun');
    await eventually(get, 200);
    await eventually(get, 200);
  });
});

describe('over a connection', () => {
  departures(WAYS[0][1].driver);
  metersCut(WAYS[0][1].driver);
});

describe('a client of an edge runtime that goes away', () => {
  const [, [, { driver }]] = WAYS;
  const ask = (app: Hono, signal: AbortSignal) =>
    app.request(new Request('http://a.example/', { signal }));

  it('before the answer frees the permit at once; what is answered later changes nothing', async () => {
    const { outcomes, guard } = noting(driver);
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
    const { outcomes, guard } = noting(driver);
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
    const store = remoteStore(new SlowStore());
    const app = new Hono();
    const client = new AbortController();
    app.get('/', spillway(limiter, { store, storeTimeout: '10s' }), () => {
      throw new Error('handled');
    });
    const response = ask(app, client.signal);
    client.abort();
    store.answer();
    expect((await response).status).toBe(499);
    expect(outcomes).toEqual([{ aborted: true, unhandled: true }]);
  });
});

function notingLimiter() {
  const outcomes: ResponseEnd[] = [];
  const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome): boolean => {
    outcomes.push(end);
    return false;
  };
  const limiter = rateLimit({ name: 'a', limit: 9, window: '1h', key: 'all', refundIf });
  return { outcomes, limiter };
}
