/** A real Nest app on either platform, and requests to it that show everything that came over the wire. */

import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { type INestApplication, Module, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { onTestFinished } from 'vitest';

/** Both platforms, for `describe.each`. */
export const PLATFORMS = [
  ['Express', { adapter: () => new ExpressAdapter() }],
  ['Fastify', { adapter: () => new FastifyAdapter() }],
] as const;

export type MakeAdapter = (typeof PLATFORMS)[number][1]['adapter'];

export interface Reply {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** Names, in lower case, and values as they were sent, in order, without those that Node adds by itself. */
  readonly fields: readonly (readonly [string, string])[];
  readonly body: string;
}

export interface Service {
  readonly app: INestApplication;
  readonly server: http.Server;
  readonly port: number;
  get(path?: string, options?: http.RequestOptions): Promise<Reply>;
  /** A request that is up to its caller. */
  open(path?: string, options?: http.RequestOptions): http.ClientRequest;
  /** Sends text as it is and reads until the connection ends. */
  raw(text: string): Promise<string>;
}

const OF_NODE = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding', 'x-powered-by']);

/** Makes an app of one module; it is not started yet. */
export async function create(
  adapter: MakeAdapter,
  metadata: ModuleMetadata,
): Promise<INestApplication> {
  class AppModule {}
  Module(metadata)(AppModule);
  const options = { logger: false, abortOnError: false } as const;
  const app = await NestFactory.create<INestApplication>(AppModule, adapter(), options);
  onTestFinished(() => app.close());
  return app;
}

/** Starts an app on a free loopback port, until the test is over. */
export async function serve(
  adapter: MakeAdapter,
  metadata: ModuleMetadata,
  prepare: (app: INestApplication) => void = () => undefined,
): Promise<Service> {
  const app = await create(adapter, metadata);
  prepare(app);
  await app.listen(0, '127.0.0.1');
  const server = app.getHttpServer() as http.Server;
  onTestFinished(() => server.closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const open = (path = '/', options: http.RequestOptions = {}): http.ClientRequest =>
    http.request({ host: '127.0.0.1', port, path, agent: false, ...options });
  return {
    app,
    server,
    port,
    open,
    get: (path, options) => read(open(path, options)),
    async raw(text) {
      const socket = net.connect(port, '127.0.0.1');
      socket.end(text);
      let reply = '';
      for await (const chunk of socket) reply += String(chunk);
      return reply;
    },
  };
}

async function read(request: http.ClientRequest): Promise<Reply> {
  request.end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  let body = '';
  for await (const chunk of response) body += String(chunk);
  const { rawHeaders, headers, statusCode = 0 } = response;
  const pairs = rawHeaders.map(
    (name, at) => [name.toLowerCase(), rawHeaders[at + 1] ?? ''] as const,
  );
  const fields = pairs.filter(([name], at) => at % 2 === 0 && !OF_NODE.has(name));
  return { status: statusCode, headers, fields, body };
}

/** Waits until something is so. */
export async function until(condition: () => boolean, withinMs = 2_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not so within ${withinMs} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
