import { rateLimit, spillway } from '@spillway/hono';
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { answers, ownAnswers, ownAnswersEnd } from 'spillway-testkit/adapters';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WAYS } from './service.js';

const once = () => rateLimit({ name: 'once', limit: 1, window: '1h', key: 'all' });

describe.each(WAYS)('over %s', (_, { driver }) => {
  answers(driver);
  ownAnswers(driver);
  ownAnswersEnd(driver, { handsNext: false });
});

describe.each(WAYS)('over %s', (_, { serve }) => {
  it('adds its fields whatever kind of answer it is', async () => {
    const app = new Hono();
    app.use(spillway(rateLimit({ name: 'a', limit: 100, window: '1h', key: 'all' })));
    app.get('/raw', () => new Response('raw'));
    app.get('/fetched', () => fetch('data:text/plain,fetched')); // the headers of this response cannot be changed
    app.get('/redirected', () => Response.redirect('http://a.example/', 302));
    app.get('/empty', (c) => c.body(null, 204));
    app.get('/thrown', () => {
      throw new Error('mine');
    });
    app.onError((error, c) => c.text(error.message, 500));
    const { get } = await serve(app);
    const statusOf = async (path: string) => {
      const { status, headers, body } = await get(path);
      expect(headers['ratelimit'], path).toMatch(/^"a";r=\d+;t=\d+$/);
      expect(headers['ratelimit-policy'], path).toBe('"a";q=100;w=3600');
      return [status, body];
    };
    expect(await statusOf('/raw')).toEqual([200, 'raw']);
    expect(await statusOf('/fetched')).toEqual([200, 'fetched']);
    expect(await statusOf('/redirected')).toEqual([302, '']);
    expect(await statusOf('/empty')).toEqual([204, '']);
    expect(await statusOf('/thrown')).toEqual([500, 'mine']);
    expect((await statusOf('/nowhere'))[0]).toBe(404);
  });

  it('keeps every cookie of an answer that it had to copy', async () => {
    const app = new Hono();
    const headers: [string, string][] = [
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ];
    const limiter = rateLimit({ limit: 5, window: '1h', key: 'all', refundIf: () => false });
    app.use(spillway(limiter));
    app.get('/', () => new Response('x', { headers }));
    const { get } = await serve(app);
    expect(String((await get()).headers['set-cookie'])).toMatch(/a=1|b=2/);
    const { headers: sent } = await app.request('/');
    expect(sent.getSetCookie()).toEqual(['a=1', 'b=2']);
  });

  it('lets browsers read a refusal when CORS stands before it', async () => {
    const app = new Hono();
    app.use(cors({ origin: '*', exposeHeaders: ['RateLimit', 'RateLimit-Policy', 'Retry-After'] }));
    app.use(spillway(once()));
    app.get('/', (c) => c.json({ ok: true }));
    const { get } = await serve(app);
    for (const status of [200, 429]) {
      const { headers, ...reply } = await get('/', { headers: { origin: 'https://a.example' } });
      expect(reply.status).toBe(status);
      expect(headers['access-control-allow-origin']).toBe('*');
      expect(headers['access-control-expose-headers']).toContain('RateLimit');
      expect(headers['ratelimit']).toBe('"once";r=0;t=3600');
    }
  });

  it('lets the app answer a refusal, with the status and the fields set', async () => {
    const app = new Hono();
    const guard = spillway(once(), {
      onRejected: ({ binding }, c) =>
        c.req.path === '/raw' ? new Response('raw') : c.json({ sorry: binding?.limiter }),
    });
    app.use(guard);
    const { get } = await serve(app);
    await get();
    const { status, headers, body } = await get();
    expect({ status, body }).toEqual({ status: 429, body: '{"sorry":"once"}' });
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'retry-after': '3600',
      'cache-control': 'no-store',
      ratelimit: '"once";r=0;t=3600',
    });
    // A response that the app made itself has its own status.
    expect(await get('/raw')).toMatchObject({ status: 200, headers: { 'retry-after': '3600' } });
  });
});

it('leaves no timer where a client leaves before an own answer, over fetch', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const faults: unknown[] = [];
  const limiter = rateLimit({ limit: 1, window: '1h', key: 'all', cost: () => 2 });
  const app = new Hono();
  app.use(
    spillway(limiter, {
      onFault: (fault) => void faults.push(fault),
      onRejected: () => new Promise(() => undefined),
    }),
  );
  const leaving = new AbortController();
  const answer = app.request('/', { signal: leaving.signal });
  expect(vi.getTimerCount()).toBe(1);
  leaving.abort();
  expect((await answer).status).toBe(429);
  expect(vi.getTimerCount()).toBe(0);
  expect(faults).toEqual([]);
});
