/** koa-ratelimit, and the same options with Spillway below. */

import { fixedWindow, memoryStore, rateLimit, spillway } from '@spillway/koa';
import Koa, { type Middleware } from 'koa';
import type { Options as PeerOptions } from 'koa-ratelimit';
import { type Service, serveListener } from 'spillway-testkit/http';

export type Options = Omit<PeerOptions, 'driver' | 'db'>;

export interface Subject {
  /** One middleware for each, all with one store, in front of `hello`. */
  serve(...options: readonly Options[]): Promise<Service>;
}

async function serve(middleware: readonly Middleware[]): Promise<Service> {
  const app = new Koa({ proxy: true });
  app.silent = true;
  app.use(async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const { status = 500, message } = error as { status?: number; message: string };
      ctx.status = status;
      ctx.body = `thrown: ${message}`;
    }
  });
  for (const one of middleware) app.use(one);
  app.use((ctx) => {
    ctx.body = 'hello';
  });
  return serveListener(app.callback());
}

/** The package reads the clock when it is loaded, so it is loaded after time was stopped. */
export async function theirs(): Promise<Subject> {
  const { default: ratelimit } = await import('koa-ratelimit');
  return {
    serve(...all) {
      const db = new Map();
      return serve(all.map((options) => ratelimit({ ...options, driver: 'memory', db })));
    },
  };
}

export const ours: Subject = {
  serve(...all) {
    const store = memoryStore();
    return serve(all.map((options) => shim(options, store)));
  },
};

function shim(options: Options, store: ReturnType<typeof memoryStore>): Middleware {
  const { max = 2_500, duration = 3_600_000, namespace = 'limit', id, whitelist } = options;
  const { status, errorMessage, disableHeader = false, onLimited } = options;
  const limiter = rateLimit({
    name: namespace,
    limit: max,
    window: duration,
    algorithm: fixedWindow,
    anchor: 'first-request',
    key: id && (({ raw }) => id(raw) || undefined),
  });
  const guard = spillway(limiter, {
    store,
    trustProxy: 1,
    headers: disableHeader ? [] : ['legacy'],
    skip: async ({ raw }) => id?.(raw) === false || (await whitelist?.(raw)) === true,
    ...((errorMessage || onLimited || options.throw || options.status) && {
      onRejected: (_admission, ctx) => {
        onLimited?.(ctx);
        if (options.throw) ctx.throw(status ?? 429, errorMessage as string);
        if (status) ctx.status = status;
        ctx.body = errorMessage;
      },
    }),
    logger: false,
  });
  return guard as Middleware;
}
