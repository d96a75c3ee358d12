/** A Hono Worker whose limits are stored in Durable Objects, in workerd. */

import { once } from 'node:events';
import http from 'node:http';
import { durableObjectStore } from '@spillway/cloudflare';
import { type LeasesAnswer, makeLeasesRule } from '@spillway/core/store';
import type { Miniflare } from 'miniflare';
import { delay, until } from 'spillway-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { objectsOf, runWorker } from './workerd.js';

describe('a Worker with limits in Durable Objects', () => {
  let miniflare: Miniflare;
  let origin: URL;

  beforeAll(async () => {
    miniflare = await runWorker('workers/hono.js', ['RateLimitObject'], {
      ratelimits: { FLOOD: { simple: { limit: 2, period: 60 } } },
    });
    origin = await miniflare.ready;
  });
  afterAll(() => miniflare.dispose());

  const get = async (path: string, key = 'ada') => {
    const response = await fetch(new URL(path, origin), { headers: { 'x-key': key } });
    return { status: response.status, fields: response.headers, body: await response.text() };
  };

  it('refuses with 429 what is above the limit, and charges nothing for it', async () => {
    const statuses = [await get('/two'), await get('/two'), await get('/two')].map((r) => r.status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await get('/hundred')).fields.get('ratelimit')).toMatch(/^"hundred";r=97;t=\d+$/);
    expect((await get('/two', 'bob')).status).toBe(200);
    expect(JSON.parse((await get('/faults')).body)).toEqual([]);
  });

  it('asks no store for what the platform refuses, and tells no numbers that nobody knows', async () => {
    const replies = [
      await get('/flood', 'tim'),
      await get('/flood', 'tim'),
      await get('/flood', 'tim'),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
    const { fields, body } = replies[2] as (typeof replies)[0];
    expect(fields.get('retry-after')).toBe('60');
    expect(fields.get('ratelimit')).toBeNull();
    expect(JSON.parse(body)).toMatchObject({ status: 429, 'violated-policies': ['flood'] });
    expect((await get('/hundred', 'tim')).fields.get('ratelimit')).toMatch(/^"hundred";r=97;/);
  });

  const post = async (path: string) => {
    const headers = { 'x-key': 'zoe', 'idempotency-key': 'one' };
    const response = await fetch(new URL(path, origin), { method: 'POST', headers });
    const isRepeat = response.headers.get('idempotency-replayed');
    return { status: response.status, isRepeat, body: await response.json() };
  };

  it('runs a request with an idempotency key once, and answers its repeats', async () => {
    const charge = () => post('/charges');
    const first = await charge();
    expect(first).toEqual({ status: 201, isRepeat: null, body: { charges: 1 } });
    // The response is stored after it has ended.
    let repeat = await charge();
    while (repeat.status === 409) repeat = await charge();
    expect(repeat).toEqual({ ...first, isRepeat: 'true' });
    expect(await charge()).toEqual(repeat);
  });

  it('keeps the claim of a handler that runs for several leases', async () => {
    const begun = performance.now();
    const first = post('/slow');
    await delay(100);
    let repeat = await post('/slow');
    while (performance.now() - begun < 2_500) {
      expect(repeat.status).toBe(409);
      await delay(100);
      repeat = await post('/slow');
    }
    expect(await first).toMatchObject({ status: 201, body: { slowRuns: 1 } });
    while (repeat.status === 409) repeat = await post('/slow');
    expect(repeat).toMatchObject({ status: 201, isRepeat: 'true', body: { slowRuns: 1 } });
  });

  /** The units left for rows: each request that asks reserves 10, and gives them back. */
  const rowsLeft = async (key: string): Promise<number> => {
    const { fields } = await get('/rows?rows=0', key);
    return Number(/r=(\d+)/.exec(fields.get('ratelimit') ?? '')?.[1]) + 10;
  };

  it('settles at the end of a stream what it has cost', async () => {
    const { status, body } = await get('/rows?rows=60', 'ann');
    expect([status, body.split('\n').length]).toEqual([200, 61]);
    await until(async () => (await rowsLeft('ann')) === 40);
    expect((await get('/rows?rows=0', 'ann')).status).toBe(200);
  });

  it('charges what a client has got that leaves in the middle', async () => {
    const url = new URL('/rows?rows=1000&gap=20', origin);
    const client = http.get(url, { headers: { 'x-key': 'kim' } }).on('error', () => undefined);
    const [response] = (await once(client, 'response')) as [http.IncomingMessage];
    let text = '';
    response.setEncoding('utf8').on('error', () => undefined);
    response.on('data', (part: string) => {
      text += part;
      if (text.split('\n').length > 30) client.destroy();
    });
    await until(async () => (await rowsLeft('kim')) <= 70);
    expect(await rowsLeft('kim')).toBeGreaterThan(20);
    expect(JSON.parse((await get('/faults')).body)).toEqual([]);
  });

  /** How many permits of a key are held, read without the Worker's guards. */
  const permitsOf = async (key: string): Promise<number> => {
    const store = durableObjectStore(await objectsOf(miniflare, 'RateLimitObject'));
    const rule = makeLeasesRule(1, 1_000_000);
    const look = { op: 'look', limiter: 'one', key, rule, cost: 1, binding: true } as const;
    const [answer] = await store.apply([look]);
    return (answer as LeasesAnswer).used;
  };

  it('holds the permit of a stream for several leases, whichever request was first', async () => {
    const open = (key: string, ticks: number) =>
      fetch(new URL(`/permit/stream?ticks=${ticks}`, origin), { headers: { 'x-key': key } });
    const first = await open('bob', 10);
    const second = await open('ada', 200);
    await first.text(); // its timers end with this request
    const ended = second.text();
    const begun = performance.now();
    while (performance.now() - begun < 3_000) {
      expect(await permitsOf('ada')).toBe(1);
      await delay(100);
    }
    await ended;
    while ((await permitsOf('ada')) > 0) {
      expect(performance.now() - begun).toBeLessThan(6_000);
      await delay(20);
    }
    expect(await permitsOf('bob')).toBe(0);
    expect(JSON.parse((await get('/faults')).body)).toEqual([]);
  });
});
