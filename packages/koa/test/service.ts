/** Both majors of Koa behind a real server, and what the shared tests need of them. */

import Router from '@koa/router';
import { admissionsOf, concurrencyLimit, rateLimit, spillway } from '@spillway/koa';
import type { Context, Middleware } from 'koa';
import Koa3 from 'koa';
import Koa2 from 'koa2';
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
export const KOA = [
  { major: 3, Koa: Koa3, driver: driverOf(Koa3) },
  { major: 2, Koa: Koa2, driver: driverOf(Koa2) },
] as const;

/** Starts an app on a free loopback port; stops it when the test ends. */
export function serve(app: Koa3, host?: string): Promise<Service> {
  return serveListener(app.callback(), host);
}

function driverOf(Koa: typeof Koa3): MiddlewareDriver<Guard> {
  return {
    rateLimit: rateLimit as MiddlewareDriver['rateLimit'],
    concurrencyLimit: concurrencyLimit as MiddlewareDriver['concurrencyLimit'],
    guard: (limiters, options, own) =>
      spillway(limiters, {
        ...options,
        ...(own && {
          onRejected: (admission, ctx, next) =>
            sendOwn(own(admission, next), (sent) => send(sent, ctx)),
        }),
      }),
    serve: (app) => serve(built(new Koa(), app)),
    shown: (fields) => fields,
  };
}

function built(koa: Koa3, { before, guards = [], routes = [HELLO], onError }: App<Guard>): Koa3 {
  koa.silent = true;
  if (onError) {
    koa.use((ctx, next) => next().catch((error: Error) => send(onError(error), ctx)));
  }
  if (before) {
    koa.use((ctx, next) => {
      before(ctx.res);
      return next();
    });
  }
  for (const guard of guards) koa.use(guard);
  const router = new Router();
  koa.use(router.routes());
  for (const { path, method = 'GET', guards: own = [], handle } of routes) {
    if (path === '*') koa.use(handlerOf(handle));
    else router.register(path, [method], [...own, handlerOf(handle)]);
  }
  return koa;
}

function handlerOf(handle: Handler): Middleware {
  return (ctx) => {
    const { method, path } = ctx;
    return finish(handle({ method, path, admissions: admissionsOf(ctx), holder: ctx }), ctx);
  };
}

function finish(answer: ReturnType<Handler>, ctx: Context): Promise<void> | undefined {
  if (answer instanceof Promise) return answer.then((it) => finish(it, ctx));
  if ('by' in answer) {
    ctx.respond = false;
    answer.by(ctx.res);
  } else {
    send(answer, ctx);
  }
  return undefined;
}

function send({ status, body, json }: Sent, ctx: Context): void {
  if (status !== undefined) ctx.status = status;
  ctx.body = json ?? body ?? '';
}
