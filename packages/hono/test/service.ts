/** Hono apps behind a real server of @hono/node-server, and over fetch as on an edge runtime. */

import type http from 'node:http';
import { Readable } from 'node:stream';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { admissionsOf, concurrencyLimit, rateLimit, spillway } from '@spillway/hono';
import { type Context, Hono } from 'hono';
import {
  type App,
  type Handler,
  HELLO,
  type MiddlewareDriver,
  type Sent,
  sendOwn,
} from 'spillway-testkit/adapters';
import { type Reply, type Service, serveListener } from 'spillway-testkit/http';

type Guard = ReturnType<typeof spillway>;

/** Both platforms below Hono, for `describe.each`. */
export const WAYS = [
  ['node:http', { serve: listen, driver: driverOf(listen) }],
  ['fetch', { serve: fetched, driver: driverOf(fetched) }],
] as const;

/** Starts an app on a free loopback port; stops it when the test ends. */
export function listen(app: {
  readonly fetch: Parameters<typeof getRequestListener>[0];
}): Promise<Service> {
  return serveListener(getRequestListener(app.fetch, { overrideGlobalObjects: false }));
}

/** Sends a request as an edge runtime does, without a connection. */
async function fetched(app: Hono): Promise<Service> {
  const noConnection = (): never => {
    throw new Error('over fetch there is no connection');
  };
  const get = async (path = '/', { method = 'GET', headers }: http.RequestOptions = {}) =>
    replyOf(await app.request(path, { method, headers: headers as Record<string, string> }));
  return { port: 0, get, open: noConnection, raw: noConnection };
}

async function replyOf(response: Response): Promise<Reply> {
  const { status } = response;
  const fields = [...response.headers];
  return { status, headers: Object.fromEntries(fields), fields, body: await response.text() };
}

function driverOf(serve: (app: Hono) => Promise<Service>): MiddlewareDriver<Guard> {
  return {
    // No address is known here: without a key of their own, all requests share one count.
    rateLimit: (options) => rateLimit({ key: 'all', ...options } as never) as never,
    concurrencyLimit: (options) => concurrencyLimit({ key: 'all', ...options } as never) as never,
    guard: (limiters, options, own) =>
      spillway(limiters, {
        ...options,
        ...(own && {
          onRejected: (admission, c) => sendOwn(own(admission, undefined), (sent) => send(sent, c)),
        }),
      }),
    serve: (app) => serve(built(app)),
    shown: (fields) =>
      fields
        .map(([name, value]) => [name.toLowerCase(), value] as const)
        .sort(([one], [other]) => (one < other ? -1 : 1)),
  };
}

function built({ before, guards = [], routes = [HELLO], onError }: App<Guard>): Hono {
  const hono = new Hono<{ Bindings: HttpBindings }>();
  if (before) {
    hono.use((c, next) => {
      before(c.env.outgoing as http.ServerResponse);
      return next();
    });
  }
  for (const guard of guards) hono.use(guard);
  for (const { path, method = 'GET', guards: own = [], handle } of routes) {
    const methods = path === '*' ? ['GET', 'OPTIONS'] : [method];
    for (const guard of own) hono.on(methods, [path], guard);
    hono.on(methods, [path], handlerOf(handle));
  }
  hono.onError((error, c) => send(onError?.(error) ?? { status: 500 }, c));
  return hono as unknown as Hono;
}

function handlerOf(handle: Handler): (c: Context) => Response | Promise<Response> {
  return (c) => {
    const { method, path } = c.req;
    return finish(handle({ method, path, admissions: admissionsOf(c), holder: c }), c);
  };
}

function finish(answer: ReturnType<Handler>, c: Context): Response | Promise<Response> {
  if (answer instanceof Promise) return answer.then((it) => finish(it, c));
  if ('by' in answer) throw new Error("Hono's handlers do not write to Node's response");
  return send(answer, c);
}

function send({ status, body, json }: Sent, c: Context): Response {
  if (status !== undefined) c.status(status as 200);
  if (json) return c.json(json);
  if (typeof body === 'object') return c.body(Readable.toWeb(body) as ReadableStream);
  return body === undefined ? c.body(null) : c.text(body);
}
