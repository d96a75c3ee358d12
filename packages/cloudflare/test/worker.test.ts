/** A Hono Worker whose limits are kept in Durable Objects, in workerd. */

import type { Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runWorker } from './workerd.js';

describe('a Worker with limits in Durable Objects', () => {
  let miniflare: Miniflare;
  let origin: URL;

  beforeAll(async () => {
    miniflare = await runWorker('workers/hono.js', ['RateLimitObject']);
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
});
