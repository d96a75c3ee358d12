/** A real Nest app on either platform, and requests to it that show everything that came over the wire. */

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type INestApplication, Module, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type Service as Requests, requestsTo } from 'spillway-testkit/http';
import { onTestFinished } from 'vitest';

export { until } from 'spillway-testkit';
export type { Reply } from 'spillway-testkit/http';

/** Both platforms, for `describe.each`. */
export const PLATFORMS = [
  ['Express', { adapter: () => new ExpressAdapter() }],
  ['Fastify', { adapter: () => new FastifyAdapter() }],
] as const;

export type MakeAdapter = (typeof PLATFORMS)[number][1]['adapter'];

/** An app on a port. Field names are in lower case, as Fastify sends them. */
export interface Service extends Requests {
  readonly app: INestApplication;
  readonly server: Server;
}

/** Makes an app of one module; it is not started. */
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

/** Starts an app on a free loopback port; stops it when the test ends. */
export async function serve(
  adapter: MakeAdapter,
  metadata: ModuleMetadata,
  prepare: (app: INestApplication) => unknown = () => undefined,
): Promise<Service> {
  const app = await create(adapter, metadata);
  await prepare(app);
  await app.listen(0, '127.0.0.1');
  const server = app.getHttpServer() as Server;
  onTestFinished(() => server.closeAllConnections());
  const requests = requestsTo((server.address() as AddressInfo).port);
  const get: Service['get'] = async (path, options) => {
    const reply = await requests.get(path, options);
    return { ...reply, fields: reply.fields.map(([name, value]) => [name.toLowerCase(), value]) };
  };
  return { ...requests, app, server, get };
}
