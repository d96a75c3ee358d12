/** Both majors of Express behind a real server, and what the shared tests need of them. */

import { pipeline } from 'node:stream';
import { admissionsOf, concurrencyLimit, rateLimit, spillway } from '@spillway/express';
import type { Express, NextFunction, Request, RequestHandler, Response } from 'express';
import express5 from 'express';
import express4 from 'express4';
import {
  type App,
  type Handler,
  HELLO,
  type MiddlewareDriver,
  type Sent,
  sendOwn,
} from 'spillway-testkit/adapters';
import { type Service, serveListener } from 'spillway-testkit/http';

type Guard = ReturnType<typeof spillway>;

/** Both majors, for `describe.each`. */
export const EXPRESS = [
  { major: 5, express: express5, driver: driverOf(5, express5) },
  { major: 4, express: express4, driver: driverOf(4, express4) },
] as const;

/** Starts an app on a free loopback port; stops it when the test ends. */
export function serve(app: Express, host?: string): Promise<Service> {
  return serveListener(app, host);
}

function driverOf(major: 4 | 5, express: typeof express5): MiddlewareDriver<Guard> {
  return {
    rateLimit: rateLimit as MiddlewareDriver['rateLimit'],
    concurrencyLimit: concurrencyLimit as MiddlewareDriver['concurrencyLimit'],
    guard: (limiters, options, own) =>
      spillway(limiters, {
        ...options,
        ...(own && {
          onRejected: (admission, _req, res, next) =>
            sendOwn(own(admission, next), (sent) => send(sent, res)),
        }),
      }),
    serve: (app) => serve(built(express(), app, major)),
    shown: (fields) => fields,
  };
}

function built(express: Express, app: App<Guard>, major: 4 | 5): Express {
  const { before, guards = [], routes = [HELLO], onError } = app;
  express.set('env', 'test'); // Express' own error handler prints nothing
  if (before) {
    express.use((_req, res, next) => {
      before(res);
      next();
    });
  }
  for (const guard of guards) express.use(guard);
  for (const { path, method = 'GET', guards: own = [], handle } of routes) {
    const handlers = [...own, handlerOf(handle, major)];
    if (path === '*') express.use(...handlers);
    else express[method === 'GET' ? 'get' : 'delete'](path, ...handlers);
  }
  if (onError) {
    express.use((error: Error, _req: Request, res: Response, _next: NextFunction) =>
      send(onError(error), res),
    );
  }
  return express;
}

function handlerOf(handle: Handler, major: 4 | 5): RequestHandler {
  return (req, res, next) => {
    const { method, path } = req;
    const answer = handle({ method, path, admissions: admissionsOf(req), holder: req });
    const sent = finish(answer, res);
    return major === 4 ? sent?.catch(next) : sent; // Express 4 ignores promises
  };
}

function finish(answer: ReturnType<Handler>, res: Response): Promise<void> | undefined {
  if (answer instanceof Promise) return answer.then((it) => finish(it, res));
  if ('by' in answer) answer.by(res);
  else send(answer, res);
  return undefined;
}

function send({ status, body, json }: Sent, res: Response): void {
  if (status !== undefined) res.status(status);
  if (json) res.json(json);
  else if (typeof body === 'object') pipeline(body, res, () => undefined);
  else res.end(body);
}
