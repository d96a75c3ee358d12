import type { ServerResponse } from 'node:http';
import net from 'node:net';
import { expect, it } from 'vitest';
import { until } from '../index.js';
import { type MiddlewareDriver, noting, serveLimit } from './driver.js';

const request = (path = '/') => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

/** Tests for middleware of node:http. */
export function pipelining(driver: MiddlewareDriver): void {
  it('releases pipelined requests whose turn never came', async () => {
    const { outcomes, guard } = noting(driver);
    let arrived = 0;
    const by = () => {
      arrived += 1;
    };
    const { port } = await driver.serve({
      guards: [guard],
      routes: [{ path: '/', handle: () => ({ by }) }],
    });
    const client = net.connect(port, '127.0.0.1');
    client.write(request().repeat(3));
    await until(() => arrived === 3);
    client.destroy();
    await until(() => outcomes.length === 3);
    expect(outcomes).toEqual([{ aborted: true }, { aborted: true }, { aborted: true }]);
  });

  it('has one listener on a connection, however many requests wait on it', async () => {
    const { outcomes, guard } = noting(driver);
    let socket: net.Socket | undefined;
    const by = (res: ServerResponse) => {
      socket = res.req.socket;
      res.end('ok');
    };
    const { port } = await driver.serve({
      guards: [guard],
      routes: [{ path: '/', handle: () => ({ by }) }],
    });
    const client = net.connect(port, '127.0.0.1').resume();
    const listeners = () => socket?.listenerCount('close') ?? Number.NaN;
    client.write(request());
    await until(() => outcomes.length === 1);
    const alone = listeners();
    client.write(request().repeat(40));
    await until(() => outcomes.length === 41);
    expect(listeners()).toBeLessThanOrEqual(alone + 1);
    client.destroy();
  });

  it('does not mistake the requests of one connection for one another', async () => {
    const { raw } = await serveLimit(driver, {
      name: 'by-key',
      limit: 1,
      window: '1h',
      key: ({ path }) => path,
    });
    const reply = await raw(request('/a') + request('/b') + request('/a') + request('/c'));
    const statuses = [...reply.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status);
    expect(statuses).toEqual(['200', '200', '429', '200']);
  });
}
