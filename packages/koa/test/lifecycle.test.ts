/** From the admission to the close of the response: the permit is released exactly once, whatever happens. */

import { PassThrough, Readable } from 'node:stream';
import { rateLimit, spillway } from '@spillway/koa';
import { until } from 'spillway-testkit';
import {
  closing,
  departures,
  lifecycle,
  meters,
  metersCut,
  noting,
  responses,
} from 'spillway-testkit/adapters';
import { describe, expect, it } from 'vitest';
import { KOA, serve } from './service.js';

describe.each(KOA)('Koa $major', ({ driver }) => {
  lifecycle(driver);
  meters(driver);
  departures(driver);
  metersCut(driver);
  responses(driver);
  closing(driver);
});

describe.each(KOA)('Koa $major', ({ Koa, driver }) => {
  it('releases when a stream fails', async () => {
    const { outcomes, guard } = noting(driver);
    const app = new Koa();
    app.silent = true;
    app.use(guard);
    app.use((ctx) => {
      ctx.body = new Readable({
        read() {
          this.destroy(new Error('the source failed'));
        },
      });
    });
    const { get } = await serve(app);
    await get().catch(() => undefined);
    await until(() => outcomes.length > 0);
    expect(outcomes).toHaveLength(1);
  });

  it('throws nothing and adds nothing when the response has begun, or ended, before it', async () => {
    const app = new Koa();
    const errors: unknown[] = [];
    app.on('error', (error) => errors.push(error));
    app.use((ctx, next) => {
      ctx.res.statusCode = 200;
      if (ctx.path.startsWith('/begun')) ctx.res.write('begun');
      if (ctx.path === '/ended') ctx.res.end('ended');
      if (ctx.path !== '/begun') ctx.respond = false;
      return next();
    });
    app.use(spillway(rateLimit({ limit: 1, window: '1h', key: ({ path }) => path })));
    app.use((ctx) => {
      if (!ctx.res.writableEnded) ctx.res.end(', and ended');
    });
    const { get } = await serve(app);
    expect((await get('/begun')).body).toBe('begun, and ended');
    expect((await get('/begun')).body).toBe('begun');
    expect((await get('/begun-by-hand')).body).toBe('begun, and ended');
    expect((await get('/begun-by-hand')).body).toBe('begun');
    expect((await get('/ended')).body).toBe('ended');
    expect((await get('/ended')).body).toBe('ended');
    expect((await get('/by-hand')).body).toBe(', and ended');
    expect(await get('/by-hand')).toMatchObject({
      status: 429,
      body: expect.stringContaining('Quota exceeded'),
    });
    expect(errors).toEqual([]);
  });

  it('replaces a body that was set before it, and destroys it', async () => {
    const app = new Koa();
    const streams: PassThrough[] = [];
    app.use((ctx, next) => {
      const stream = new PassThrough();
      streams.push(stream);
      ctx.body = stream;
      ctx.set('Content-Length', '3');
      return next();
    });
    app.use(spillway(rateLimit({ limit: 1, window: '1h', cost: () => 2 })));
    const { get } = await serve(app);
    const { status, headers, body } = await get();
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 429,
      type: 'application/problem+json',
    });
    expect(JSON.parse(body).status).toBe(429);
    expect(streams[0]?.destroyed).toBe(true);
  });
});
