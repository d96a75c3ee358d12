/** A Fastify app behind a real server, and what the shared tests need of it. */

import {
  admissionsOf,
  concurrencyLimit,
  rateLimit,
  type SpillwayOptions,
  spillway,
} from '@spillway/fastify';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyServerOptions,
  type RouteHandlerMethod,
} from 'fastify';
import {
  type App,
  type Handler,
  HELLO,
  type RefusingDriver,
  type Sent,
  sendOwn,
} from 'spillway-testkit/adapters';
import { type Service, serveListener } from 'spillway-testkit/http';
import { onTestFinished } from 'vitest';

export { until } from 'spillway-testkit';

/** An app that is closed when the test ends. */
export function makeApp(options: FastifyServerOptions = {}): FastifyInstance {
  const app = Fastify(options);
  onTestFinished(() => app.close());
  return app;
}

/** Starts an app on a free loopback port; stops it when the test ends. */
export async function serve(app: FastifyInstance, host?: string): Promise<Service> {
  await app.ready();
  return serveListener((req, res) => app.routing(req, res), host);
}

/** The statuses of `times` requests, one after another, without a connection. */
export async function statuses(
  app: FastifyInstance,
  url: string,
  times: number,
): Promise<number[]> {
  const seen: number[] = [];
  for (let i = 0; i < times; i += 1) seen.push((await app.inject(url)).statusCode);
  return seen;
}

type Guard = SpillwayOptions;

/** The plugin with its guard at the given hook. */
export function driverOf(hook: NonNullable<SpillwayOptions['hook']>): RefusingDriver<Guard> {
  return {
    rateLimit: rateLimit as RefusingDriver['rateLimit'],
    concurrencyLimit: concurrencyLimit as RefusingDriver['concurrencyLimit'],
    guard: (limiters, options, own) =>
      ({
        ...options,
        limiters,
        hook,
        ...(own && {
          onRejected: (admission, _request, reply) =>
            sendOwn(own(admission, undefined), (sent) => void sendAsItIs(sent, reply)),
        }),
      }) as Guard,
    serve: (app) => serve(built(app)),
    // Fastify sends field names in lower case.
    shown: (fields) =>
      fields
        .map(([name, value]) => [name.toLowerCase(), value] as const)
        .sort(([one], [other]) => (one < other ? -1 : 1)),
  };
}

function built({ before, guards = [], routes = [HELLO], onError }: App<Guard>): FastifyInstance {
  const app = makeApp();
  if (before) app.addHook('onRequest', async (_request, reply) => before(reply.raw));
  for (const guard of guards) app.register(spillway, guard);
  if (onError) app.setErrorHandler((error, _, reply) => send(onError(error as Error), reply));
  for (const { path, method = 'GET', handle } of routes) {
    if (path === '*') app.all('/*', handlerOf(handle));
    else app.route({ method, url: path, handler: handlerOf(handle) });
  }
  return app;
}

function handlerOf(handle: Handler): RouteHandlerMethod {
  return async (request, reply) => {
    const { method, url: path } = request;
    const answer = await handle({
      method,
      path,
      admissions: admissionsOf(request),
      holder: request,
    });
    if (!('by' in answer)) return send(answer, reply);
    reply.hijack();
    answer.by(reply.raw);
    return reply;
  };
}

/** With the status that the reply already has. */
function sendAsItIs({ body, json }: Sent, reply: FastifyReply): FastifyReply {
  return reply.send(json ?? body);
}

function send({ status = 200, body, json }: Sent, reply: FastifyReply): FastifyReply {
  return reply.code(status).send(json ?? body);
}
