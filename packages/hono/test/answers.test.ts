/** What goes out: fields, statuses and bodies, over node:http and over fetch alike. */

import { ManualClock } from '@spillway/core/testing';
import { memoryStore, rateLimit, spillway } from '@spillway/hono';
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { describe, expect, it } from 'vitest';
import { WAYS } from './service.js';

const PROBLEM =
  '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota exceeded","status":429,' +
  '"detail":"You have used up the quota of policy \\"2-per-1m\\". Try again in 30 seconds.","violated-policies":["2-per-1m"]}';

const once = () => rateLimit({ name: 'once', limit: 1, window: '1h', key: 'all' });

describe.each(WAYS)('over $way', ({ serve }) => {
  it('answers up to the limit, then refuses with 429, all fields and a problem document', async () => {
    const limiter = rateLimit({ name: '2-per-1m', limit: 2, window: '1m', key: 'all' });
    const app = new Hono();
    app.use(spillway(limiter, { store: memoryStore({ clock: new ManualClock() }) }));
    app.get('/', (c) => c.text('hello'));
    const get = await serve(app);

    expect(await get()).toMatchObject({
      status: 200,
      fields: {
        'ratelimit-policy': '"2-per-1m";q=2;w=60',
        ratelimit: '"2-per-1m";r=1;t=30',
        'content-type': expect.stringMatching(/^text\/plain;\s?charset=utf-8$/i),
      },
      body: 'hello',
    });
    expect((await get()).fields['ratelimit']).toBe('"2-per-1m";r=0;t=30');
    expect(await get()).toEqual({
      status: 429,
      fields: {
        'ratelimit-policy': '"2-per-1m";q=2;w=60',
        ratelimit: '"2-per-1m";r=0;t=30',
        'retry-after': '30',
        'cache-control': 'no-store',
        'content-type': 'application/problem+json',
        'content-length': String(PROBLEM.length),
      },
      body: PROBLEM,
    });
  });

  it('refuses until exactly the promised moment, then admits', async () => {
    const clock = new ManualClock();
    const limiter = rateLimit({ name: 'a', limit: 1, window: '10s', key: 'all' });
    const app = new Hono();
    app.use(spillway(limiter, { store: memoryStore({ clock }) }));
    const get = await serve(app);
    expect((await get()).status).toBe(404);
    expect((await get()).fields['retry-after']).toBe('10');
    clock.advance(9_999.999);
    expect((await get()).status).toBe(429);
    clock.advance(0.001);
    expect((await get()).status).toBe(404);
  });

  it('sends the length of the body but no body to a refused HEAD', async () => {
    const app = new Hono();
    app.use(spillway(once()));
    const get = await serve(app);
    await get();
    const whole = await get();
    const head = await get('/', { method: 'HEAD' });
    expect(head).toMatchObject({ status: 429, body: '' });
    expect(head.fields).toEqual(whole.fields);
  });

  it('adds its fields whatever kind of answer it is', async () => {
    const app = new Hono();
    app.use(spillway(rateLimit({ name: 'a', limit: 100, window: '1h', key: 'all' })));
    app.get('/raw', () => new Response('raw'));
    app.get('/fetched', () => fetch('data:text/plain,fetched')); // its headers cannot be changed
    app.get('/redirected', () => Response.redirect('http://a.example/', 302));
    app.get('/empty', (c) => c.body(null, 204));
    app.get('/thrown', () => {
      throw new Error('mine');
    });
    app.onError((error, c) => c.text(error.message, 500));
    const get = await serve(app);
    const statusOf = async (path: string) => {
      const { status, fields, body } = await get(path, { redirect: 'manual' });
      expect(fields['ratelimit'], path).toMatch(/^"a";r=\d+;t=\d+$/);
      expect(fields['ratelimit-policy'], path).toBe('"a";q=100;w=3600');
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
    const get = await serve(app);
    expect((await get()).fields['set-cookie']).toMatch(/a=1|b=2/);
    const { headers: sent } = await app.request('/');
    expect(sent.getSetCookie()).toEqual(['a=1', 'b=2']);
  });

  it('lets browsers read a refusal when CORS stands before it', async () => {
    const app = new Hono();
    app.use(cors({ origin: '*', exposeHeaders: ['RateLimit', 'RateLimit-Policy', 'Retry-After'] }));
    app.use(spillway(once()));
    app.get('/', (c) => c.json({ ok: true }));
    const get = await serve(app);
    for (const status of [200, 429]) {
      const { fields, ...reply } = await get('/', { headers: { origin: 'https://a.example' } });
      expect(reply.status).toBe(status);
      expect(fields['access-control-allow-origin']).toBe('*');
      expect(fields['access-control-expose-headers']).toContain('RateLimit');
      expect(fields['ratelimit']).toBe('"once";r=0;t=3600');
    }
  });

  it('sends the legacy fields when asked, and none when told so', async () => {
    const app = new Hono();
    const limit = (name: string) => rateLimit({ name, limit: 5, window: '1m', key: 'all' });
    app.use('/legacy', spillway(limit('a'), { headers: ['legacy'] }));
    app.use('/none', spillway(limit('b'), { headers: [] }));
    const get = await serve(app);
    const { fields } = await get('/legacy');
    expect(fields).toMatchObject({ 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4' });
    expect(fields['ratelimit']).toBeUndefined();
    const names = Object.keys((await get('/none')).fields);
    expect(names.filter((name) => name.includes('ratelimit'))).toEqual([]);
  });

  it('lets the app answer a refusal, with the status and the fields set', async () => {
    const app = new Hono();
    const guard = spillway(once(), {
      onRefused: ({ binding }, c) =>
        c.req.path === '/raw' ? new Response('raw') : c.json({ sorry: binding?.limiter }),
    });
    app.use(guard);
    const get = await serve(app);
    await get();
    const { status, fields, body } = await get();
    expect({ status, body }).toEqual({ status: 429, body: '{"sorry":"once"}' });
    expect(fields).toMatchObject({
      'content-type': 'application/json',
      'retry-after': '3600',
      'cache-control': 'no-store',
      ratelimit: '"once";r=0;t=3600',
    });
    // A response of the app's own making has a status of its own.
    expect(await get('/raw')).toMatchObject({ status: 200, fields: { 'retry-after': '3600' } });
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    ['rejects', () => Promise.reject(new Error('mine'))],
  ])('hands on to the error handler what the own answer %s', async (_, onRefused) => {
    const app = new Hono();
    app.use(spillway(once(), { onRefused }));
    app.onError((error, c) => c.text(error.message, 500));
    const get = await serve(app);
    await get();
    expect(await get()).toMatchObject({ status: 500, body: 'mine' });
  });

  it('shows nothing of hostile keys and paths', async () => {
    const app = new Hono();
    const key = (request: { header(name: string): string | undefined }) => request.header('x-key');
    app.use(spillway(rateLimit({ name: 'hostile', limit: 1, window: '1h', key })));
    const get = await serve(app);
    for (const value of ['é"\\', '__proto__', 'a'.repeat(8_000), '<script>']) {
      const ask = () => get('/%0d%0aX-Evil:%201?<script>', { headers: { 'x-key': value } });
      expect((await ask()).status).toBe(404);
      const { status, fields, body } = await ask();
      expect(status).toBe(429);
      expect(fields['ratelimit']).toBe('"hostile";r=0;t=3600');
      expect(fields['x-evil']).toBeUndefined();
      expect(body).not.toContain('script');
      expect(body).not.toContain(value.slice(0, 9));
    }
  });
});
