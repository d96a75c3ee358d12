/** A Fastify app behind a real server. */

import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { type Service, serveListener } from 'spillway-testkit/http';
import { onTestFinished } from 'vitest';

export { until } from 'spillway-testkit';

/** An app that is closed when the test is over. */
export function makeApp(options: FastifyServerOptions = {}): FastifyInstance {
  const app = Fastify(options);
  onTestFinished(() => app.close());
  return app;
}

/** Starts an app on a free loopback port, until the test is over. */
export async function serve(app: FastifyInstance, host?: string): Promise<Service> {
  await app.ready();
  return serveListener((req, res) => app.routing(req, res), host);
}

/** The statuses of so many requests without a connection, one after another. */
export async function statuses(
  app: FastifyInstance,
  url: string,
  times: number,
): Promise<number[]> {
  const seen: number[] = [];
  for (let i = 0; i < times; i += 1) seen.push((await app.inject(url)).statusCode);
  return seen;
}
