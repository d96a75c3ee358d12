/** @fastify/rate-limit, and the same options with Spillway below. */

import * as peer from '@fastify/rate-limit';
import {
  fixedWindow,
  type Limiter,
  type RouteLimits,
  rateLimit,
  type Store,
  spillway,
} from '@spillway/fastify';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { brokenStore } from 'spillway-testkit';
import { type Service, serveListener } from 'spillway-testkit/http';
import { onTestFinished } from 'vitest';

/** The options that are tried. */
export interface Options {
  readonly global?: boolean;
  readonly max?: number | ((request: FastifyRequest) => number | Promise<number>);
  readonly timeWindow?: number | string | (() => number);
  readonly hook?: 'onRequest' | 'preHandler';
  readonly keyGenerator?: (request: FastifyRequest) => string | Promise<string>;
  readonly allowList?: string[] | ((request: FastifyRequest) => boolean | Promise<boolean>);
  readonly ban?: number;
  readonly continueExceeding?: boolean;
  readonly exponentialBackoff?: boolean;
  readonly skipOnError?: boolean;
  readonly enableDraftSpec?: boolean;
  readonly groupId?: string;
  readonly onExceeding?: () => void;
  readonly onExceeded?: () => void;
  readonly errorResponseBuilder?: () => object;
}

export interface App {
  readonly options: Options;
  /** The options of each route; `false` switches limits off. Default: `/` without options. */
  readonly routes?: Readonly<Record<string, Options | false>>;
  /** Runs before the plugin: sets data of a request that the hook `preHandler` can use. */
  readonly before?: (app: FastifyInstance) => void;
  /** Whether the store fails. */
  readonly broken?: boolean;
}

export interface Subject {
  serve(app: App): Promise<Service>;
}

type Config = { rateLimit?: peer.RateLimitOptions | false; spillway?: RouteLimits };

async function serve(
  { routes = { '/': {} }, before }: App,
  register: (app: FastifyInstance) => void,
  configOf: (limits: Options | false) => Config,
): Promise<Service> {
  const app = Fastify({ trustProxy: '127.0.0.1' });
  onTestFinished(() => app.close());
  before?.(app);
  register(app);
  app.after(() => {
    for (const [path, limits] of Object.entries(routes)) {
      app.get(path, { config: configOf(limits) }, () => 'hello');
    }
  });
  await app.ready();
  return serveListener((req, res) => app.routing(req, res));
}

const isEmpty = (limits: object): boolean => Object.keys(limits).length === 0;

/** A store of the package that fails. */
function FailingStore(): object {
  const incr = (_key: string, done: (error: Error, result: null) => void) =>
    done(new Error('no store'), null);
  return { incr, child: FailingStore };
}

export const theirs: Subject = {
  serve: (app) =>
    serve(
      app,
      (fastify) => {
        const store = app.broken ? { store: FailingStore as never } : {};
        fastify.register(peer.default, {
          ...(app.options as peer.RateLimitPluginOptions),
          ...store,
        });
      },
      (limits) => {
        if (limits !== false && isEmpty(limits)) return {};
        return { rateLimit: limits as peer.RateLimitOptions | false };
      },
    ),
};

export const ours: Subject = {
  serve(app) {
    const { options, routes = {}, broken = false } = app;
    const { global = true, hook = 'onRequest', skipOnError = false, allowList } = options;
    const { onExceeding, onExceeded, errorResponseBuilder } = options;
    const grouped = Object.values(routes).filter((limits) => limits !== false && limits.groupId);
    const groups = Object.fromEntries(
      (grouped as Options[]).map((limits) => {
        const name = String(limits.groupId);
        return [name, limiterOf(name, { ...options, ...limits })];
      }),
    );
    let made = 0;
    return serve(
      app,
      (fastify) =>
        void fastify.register(spillway, {
          limiters: global ? [limiterOf('global', options)] : [],
          groups,
          hook,
          headers: [options.enableDraftSpec ? 'draft-6' : 'legacy'],
          onStoreError: skipOnError ? 'allow' : 'deny',
          ...(broken && { store: { ...brokenStore } as Store }),
          ...(allowList && {
            skip: ({ raw, clientIp = '' }) =>
              typeof allowList === 'function' ? allowList(raw) : allowList.includes(clientIp),
          }),
          onDecision: ({ outcome }) => (outcome === 'allowed' ? onExceeding : onExceeded)?.(),
          ...(errorResponseBuilder && { onRejected: () => errorResponseBuilder() }),
          logger: false,
        }),
      (limits) => {
        if (limits === false) return { spillway: false };
        if (isEmpty(limits)) return {};
        made += 1;
        const own = limiterOf(`route-${made}`, { ...options, ...limits });
        return { spillway: limits.groupId ?? own };
      },
    );
  },
};

function limiterOf(name: string, options: Options): Limiter<FastifyRequest> {
  const { max = 1_000, timeWindow = 60_000, keyGenerator } = options;
  return rateLimit({
    name,
    limit: typeof max === 'function' ? 1_000 : max,
    // A duration in words is rejected, as the suite says.
    window: typeof timeWindow === 'function' ? 60_000 : (timeWindow as number),
    plan: async ({ raw }) => ({
      limit: typeof max === 'function' ? await max(raw) : null,
      window: typeof timeWindow === 'function' ? timeWindow() : null,
    }),
    algorithm: fixedWindow,
    anchor: 'first-request',
    key: keyGenerator && (({ raw }) => keyGenerator(raw)),
  });
}
