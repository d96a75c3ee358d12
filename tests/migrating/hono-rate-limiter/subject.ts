/** hono-rate-limiter, and the same options with Spillway below. */

import { getRequestListener } from '@hono/node-server';
import {
  admissionsOf,
  createLimiter,
  fixedWindow,
  type HeaderStyle,
  memoryStore,
  rateLimit,
  spillway,
} from '@spillway/hono';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import * as peer from 'hono-rate-limiter';
import { type Service, serveListener } from 'spillway-testkit/http';
import { refundOf } from '../refund-of.js';

type Message = string | object | ((c: Context) => string | object | Promise<string | object>);

/** Its options with a store, without those of Cloudflare's binding. */
export interface Options {
  readonly keyGenerator: (c: Context) => string | Promise<string>;
  readonly windowMs?: number;
  readonly limit?: number | ((c: Context) => number | Promise<number>);
  readonly message?: Message;
  readonly statusCode?: number;
  readonly standardHeaders?: boolean | 'draft-6' | 'draft-7';
  readonly skip?: (c: Context) => boolean | Promise<boolean>;
  readonly skipFailedRequests?: boolean;
  readonly skipSuccessfulRequests?: boolean;
  readonly requestWasSuccessful?: (c: Context) => boolean | Promise<boolean>;
  readonly handler?: (c: Context) => Response | Promise<Response>;
}

export interface Info {
  readonly limit: number | undefined;
  readonly used: number | undefined;
  readonly remaining: number | undefined;
}

export interface Limited {
  readonly handler: MiddlewareHandler;
  infoOf(c: Context): Info | undefined;
  resetKey(c: Context, key: string): Promise<void>;
}

export interface Subject {
  limiter(options: Options): Limited;
}

/** Answers `hello`, with the requested status, behind a limiter; `own` runs before the limiter. */
export function serve(limiter: MiddlewareHandler, own?: MiddlewareHandler): Promise<Service> {
  const app = new Hono();
  app.use(limiter);
  if (own) app.use(own);
  app.all('*', (c) => {
    if (c.req.path === '/throws') throw new Error('mine');
    return c.text('hello', Number(c.req.query('status') ?? 200) as 200);
  });
  app.onError((_error, c) => c.text('failed', 500));
  return serveListener(getRequestListener(app.fetch, { overrideGlobalObjects: false }));
}

interface PeerVariables {
  rateLimit: peer.RateLimitInfo;
  rateLimitStore: { resetKey(key: string): void | Promise<void> };
}

const variables = (c: Context): PeerVariables => c.var as unknown as PeerVariables;

export const theirs: Subject = {
  limiter: (options) => ({
    handler: peer.rateLimiter(options as never),
    infoOf(c) {
      const info = variables(c).rateLimit;
      return info && { limit: info.limit, used: info.used, remaining: info.remaining };
    },
    resetKey: async (c, key) => variables(c).rateLimitStore.resetKey(key),
  }),
};

const MESSAGE = 'Too many requests, please try again later.';

export const ours: Subject = {
  limiter(options) {
    const { windowMs = 60_000, limit = 5, keyGenerator, skip, handler } = options;
    const { message = MESSAGE, statusCode } = options;
    const { requestWasSuccessful = (c: Context) => c.res.status < 400 } = options;
    const store = memoryStore();
    const rule = {
      name: 'limit',
      window: windowMs,
      algorithm: fixedWindow,
      anchor: 'first-request',
    } as const;
    const limiter = rateLimit({
      ...rule,
      ...(typeof limit === 'function'
        ? { limit: 5, plan: async ({ raw }) => ({ limit: await limit(raw) }) }
        : { limit }),
      key: ({ raw }) => keyGenerator(raw),
      refundIf: refundOf(options, requestWasSuccessful),
    });
    const guard = spillway(limiter, {
      store,
      headers: stylesOf(options),
      clientIp: (c) => c.req.header('x-forwarded-for'),
      skip: skip && (({ raw }) => skip(raw)),
      onRejected: async (_admission, c) => {
        if (handler) return handler(c);
        const said = typeof message === 'function' ? await message(c) : message;
        if (statusCode) c.status(statusCode as 429);
        return typeof said === 'string' ? c.text(said) : c.json(said);
      },
      logger: false,
    });
    const keys = createLimiter({ ...rule, limit: limiter.rule.limit }, { store });
    return {
      handler: guard,
      infoOf(c) {
        const [decision] = admissionsOf(c)[0]?.decisions ?? [];
        if (!decision) return undefined;
        const { policy, used, remaining } = decision;
        return { limit: policy?.limit, used, remaining };
      },
      resetKey: async (_c, key) => void keys.reset(key),
    };
  },
};

function stylesOf({ standardHeaders = 'draft-6' }: Options): HeaderStyle[] {
  if (standardHeaders === false) return [];
  return [standardHeaders === 'draft-7' ? 'draft-11' : 'draft-6'];
}
