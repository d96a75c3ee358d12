/** Many requests over one connection: each is answered, counted and released for itself. */

import net from 'node:net';
import { rateLimit, spillway } from '@spillway/koa';
import { describe, expect, it } from 'vitest';
import { noting } from './noting.js';
import { KOA, serve, until } from './service.js';

describe.each(KOA)('Koa $major', ({ Koa }) => {
  it('releases pipelined requests whose turn never came', async () => {
    const { outcomes, guard } = noting();
    const app = new Koa();
    let arrived = 0;
    app.use(guard);
    app.use(() => {
      arrived += 1;
      return new Promise(() => undefined);
    });
    const { port } = await serve(app);
    const client = net.connect(port, '127.0.0.1');
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3));
    await until(() => arrived === 3);
    client.destroy();
    await until(() => outcomes.length === 3);
    expect(outcomes).toEqual([{ aborted: true }, { aborted: true }, { aborted: true }]);
  });

  it('has one listener on a connection, however many requests wait on it', async () => {
    const { outcomes, guard } = noting();
    const app = new Koa();
    let socket: net.Socket | undefined;
    app.use(guard);
    app.use((ctx) => {
      socket = ctx.socket;
      ctx.body = 'ok';
    });
    const { port } = await serve(app);
    const client = net.connect(port, '127.0.0.1').resume();
    const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
    client.write(request);
    await until(() => outcomes.length === 1);
    const alone = socket?.listenerCount('close');
    client.write(request.repeat(4));
    await until(() => outcomes.length === 5);
    expect(socket?.listenerCount('close')).toBeLessThanOrEqual((alone ?? 0) + 1);
    client.destroy();
  });

  it('does not mistake the requests of one connection for one another', async () => {
    const app = new Koa();
    const limiter = rateLimit({ name: 'by-key', limit: 1, window: '1h', key: ({ path }) => path });
    app.use(spillway(limiter));
    app.use((ctx) => {
      ctx.body = 'ok';
    });
    const { raw } = await serve(app);
    const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
    const reply = await raw(request('/a') + request('/b') + request('/a') + request('/c'));
    const statuses = [...reply.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status);
    expect(statuses).toEqual(['200', '200', '429', '200']);
  });
});
