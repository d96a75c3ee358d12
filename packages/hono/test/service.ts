/** Hono apps to ask: over a real server of @hono/node-server, and over fetch as an edge runtime would. */

import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { onTestFinished } from 'vitest';

export interface Reply {
  readonly status: number;
  /** By lower-case names, without those that a server adds by itself. */
  readonly fields: Record<string, string>;
  readonly body: string;
}

export type Get = (path?: string, init?: RequestInit) => Promise<Reply>;

/** Both ways below Hono, for `describe.each`. */
export const WAYS: readonly { readonly way: string; serve(app: Hono): Promise<Get> }[] = [
  { way: 'node:http', serve: async (app) => (await listen(app)).get },
  {
    way: 'fetch',
    serve: async (app) => async (path, init) => toReply(await app.request(path ?? '/', init)),
  },
];

const OF_THE_SERVER = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding']);

async function toReply(response: Response): Promise<Reply> {
  const fields = [...response.headers].filter(([name]) => !OF_THE_SERVER.has(name));
  return {
    status: response.status,
    fields: Object.fromEntries(fields),
    body: await response.text(),
  };
}

/** Starts an app on a free loopback port, until the test is over. */
export async function listen(app: {
  readonly fetch: Parameters<typeof getRequestListener>[0];
}): Promise<{ get: Get; open(path?: string): http.ClientRequest }> {
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = http.createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return {
    get: async (path = '/', init) => toReply(await fetch(`http://127.0.0.1:${port}${path}`, init)),
    open: (path = '/') =>
      http
        .request({ host: '127.0.0.1', port, path, agent: false })
        .on('error', () => undefined)
        .end() as http.ClientRequest,
  };
}

/** Waits until something is so. */
export async function until(condition: () => boolean, withinMs = 2_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not so within ${withinMs} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
