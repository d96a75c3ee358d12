/** express-rate-limit, and the same options with Spillway below. */

import {
  admissionsOf,
  createLimiter,
  fixedWindow,
  type HeaderStyle,
  memoryStore,
  rateLimit,
  type Store,
  spillway,
} from '@spillway/express';
import express, { type Request, type RequestHandler, type Response } from 'express';
import * as peer from 'express-rate-limit';
import { brokenStore } from 'spillway-testkit';
import { type Service, serveListener } from 'spillway-testkit/http';
import { refundOf } from '../refund-of.js';

export type Options = Partial<peer.Options>;

/** The properties of the limit that a handler can read. */
export interface Info {
  readonly limit: number | undefined;
  readonly used: number | undefined;
  readonly remaining: number | undefined;
}

export interface Limiter {
  readonly handler: RequestHandler;
  resetKey(key: string): Promise<void>;
  /** How much of the limit a key has used; undefined if nothing. */
  usedBy(key: string): Promise<number | undefined>;
}

export interface Subject {
  limiter(options?: Options): Limiter;
  /** With a store that fails. */
  broken(options?: Options): RequestHandler;
  infoOf(req: Request): Info | undefined;
}

/** An app on a free port, behind a proxy. It answers `hello` unless a handler has answered before. */
export function serve(...handlers: readonly RequestHandler[]): Promise<Service> {
  const app = express().set('trust proxy', 1).set('env', 'test');
  for (const handler of handlers) app.use(handler);
  app.use((req, res) => void res.status(Number(req.query['status'] ?? 200)).send('hello'));
  return serveListener(app);
}

export const theirs: Subject = {
  limiter(options) {
    const handler = peer.rateLimit({ validate: false, ...options });
    return {
      handler,
      resetKey: async (key) => handler.resetKey(key),
      usedBy: async (key) => (await handler.getKey(key))?.totalHits,
    };
  },
  broken(options) {
    const fails = () => Promise.reject(new Error('no store'));
    const store = { increment: fails, decrement: fails, resetKey: fails };
    return peer.rateLimit({ validate: false, ...options, store });
  },
  infoOf(req) {
    const info = (req as { rateLimit?: peer.RateLimitInfo }).rateLimit;
    return info && { limit: info.limit, used: info.used, remaining: info.remaining };
  },
};

export const ours: Subject = {
  limiter: (options) => shim(options),
  broken: (options) => shim(options, { ...brokenStore }).handler,
  infoOf(req) {
    const [decision] = admissionsOf(req)[0]?.decisions ?? [];
    if (!decision) return undefined;
    return {
      limit: decision.policy?.limit,
      used: decision.used,
      remaining: decision.remaining,
    };
  },
};

const MESSAGE = 'Too many requests, please try again later.';

function shim(options: Options = {}, store: Store = memoryStore()): Limiter {
  const { windowMs = 60_000, limit = options.max ?? 5, keyGenerator, skip } = options;
  const { requestWasSuccessful: wasSuccessful = (_req, res) => res.statusCode < 400 } = options;
  const { handler, message = MESSAGE, statusCode, ipv6Subnet = 56 } = options;
  const name = typeof options.identifier === 'string' ? options.identifier : 'limit';
  const rule = {
    name,
    window: windowMs,
    algorithm: fixedWindow,
    anchor: 'first-request',
  } as const;
  const limiter = rateLimit({
    ...rule,
    ...(typeof limit === 'function'
      ? {
          limit: 5,
          plan: async ({ raw }) => ({ limit: await limit(raw, raw.res as Response) }),
        }
      : { limit }),
    key: keyGenerator && (({ raw }) => keyGenerator(raw, raw.res as Response)),
    refundIf: refundOf(options, (raw: Request) => wasSuccessful(raw, raw.res as Response)),
  });
  const guard = spillway(limiter, {
    store,
    headers: stylesOf(options),
    ipv6Prefix: ipv6Subnet === false ? 128 : Number(ipv6Subnet),
    onStoreError: options.passOnStoreError ? 'allow' : 'deny',
    preflights: 'count',
    skip: skip && (({ raw }) => skip(raw, raw.res as Response)),
    onRejected: async (_admission, req, res, next) => {
      if (handler) return handler(req, res, next, options as peer.Options);
      if (statusCode) res.status(statusCode);
      return res.send(typeof message === 'function' ? await message(req, res) : message);
    },
    logger: false,
  });
  const keys = createLimiter({ ...rule, limit: limiter.rule.limit }, { store });
  const named = (key: string): string => (keyGenerator ? key : `@${key}`);
  return {
    handler: guard,
    resetKey: async (key) => void (await keys.reset(named(key))),
    usedBy: async (key) => (await keys.peek(named(key))).used || undefined,
  };
}

function stylesOf({ legacyHeaders = true, standardHeaders = false }: Options): HeaderStyle[] {
  const styles: HeaderStyle[] = legacyHeaders ? ['legacy'] : [];
  if (standardHeaders === 'draft-8') styles.push('draft-11');
  if (standardHeaders === true || standardHeaders === 'draft-6') styles.push('draft-6');
  return styles;
}
