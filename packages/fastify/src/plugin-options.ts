/** What an app says: when it registers the plugin, and on its routes. */

import type { Admission, GuardOptions, Limiter } from '@spillway/core';
import type { AddressOptions, GuardHandle, OwnNames } from '@spillway/core/adapter';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** One limiter or several, which are decided together. */
export type Limiters = Limiter<FastifyRequest> | readonly Limiter<FastifyRequest>[];

/**
 * What a route says of its limits, as `config: { spillway: ... }`: a limiter, the name of one of the plugin's `groups`,
 * or a list of both. They are added to the plugin's own `limiters`, and all are one decision. `false`: no limits at
 * all.
 */
export type RouteLimits =
  | false
  | string
  | Limiter<FastifyRequest>
  | readonly (string | Limiter<FastifyRequest>)[];

/** Options of the adapter. */
export interface SpillwayOptions extends GuardOptions<FastifyRequest>, AddressOptions {
  /** Limits of every route of this context and its children, and of requests that no route answers. Default: none. */
  readonly limiters?: Limiters | undefined;
  /**
   * Limits by a name, for routes that say it: `config: { spillway: 'login' }`. Children of this context know it too.
   */
  readonly groups?: Readonly<Record<string, Limiters>> | undefined;
  /**
   * The hook that decides. `onRequest` (default) runs before a body is read; `preHandler` runs after authentication,
   * for limits whose key is what it found.
   */
  readonly hook?: 'onRequest' | 'preHandler' | undefined;
  /**
   * Answers a rejected request instead of the problem document, by `reply.send` or by what it returns. The status and
   * the headers are set already, except `Content-Type`. If it has not begun to answer within 10 s, or returns a promise
   * that resolves without an answer, the problem document is sent after all (in the last case 1 s later), and `onFault`
   * is called. What it throws goes to the app's error handler, as a 500.
   */
  readonly onRejected?:
    | ((admission: Admission, request: FastifyRequest, reply: FastifyReply) => unknown)
    | undefined;
}

/** Fastify's own options of `register` stand among those of a plugin. */
type RegisterOptions = { readonly [Name in 'prefix' | 'logLevel' | 'logSerializers']?: unknown };

export const OWN: OwnNames<SpillwayOptions & RegisterOptions> = {
  limiters: 1,
  groups: 1,
  hook: 1,
  onRejected: 1,
  prefix: 1,
  logLevel: 1,
  logSerializers: 1,
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Limits of this route, in addition to those of the plugin; `false`: none at all. */
    spillway?: RouteLimits;
  }
  interface FastifyInstance {
    /** What was registered last for this context: its `inProgress` and `close`, which closing the app calls too. */
    spillway: GuardHandle;
  }
}
