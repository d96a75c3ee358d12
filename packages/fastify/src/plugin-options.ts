import type { Admission, GuardOptions, Limiter } from '@spillway/core';
import type { AddressOptions, GuardHandle, OwnNames } from '@spillway/core/adapter';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** One limiter, or several that decide together. */
export type Limiters = Limiter<FastifyRequest> | readonly Limiter<FastifyRequest>[];

/**
 * The limits of a route, in `config: { spillway: ... }`: a limiter, the name of one of the plugin's `groups`, or a list
 * of both. These limits decide together with the plugin's `limiters`. `false` turns off all limits for the route.
 */
export type RouteLimits =
  | false
  | string
  | Limiter<FastifyRequest>
  | readonly (string | Limiter<FastifyRequest>)[];

/** Options of the adapter. */
export interface SpillwayOptions extends GuardOptions<FastifyRequest>, AddressOptions {
  /** Limits of each route in this context and its children, and of requests that match no route. Default: none. */
  readonly limiters?: Limiters | undefined;
  /** Named limits. Routes in this context and its children select them with `config: { spillway: 'login' }`. */
  readonly groups?: Readonly<Record<string, Limiters>> | undefined;
  /**
   * The hook that decides. `onRequest` (default) runs before the body is read. `preHandler` runs after authentication,
   * for limits per user.
   */
  readonly hook?: 'onRequest' | 'preHandler' | undefined;
  /**
   * Answers a rejected request instead of the problem document, by `reply.send` or by its return value. Status and
   * headers are already set, except `Content-Type`. If it throws, the app's error handler answers, with status 500. If
   * it doesn't begin to answer within 10 s, the problem document is sent.
   */
  readonly onRejected?:
    | ((admission: Admission, request: FastifyRequest, reply: FastifyReply) => unknown)
    | undefined;
}

/** Fastify also passes the options of `register` itself to the plugin. */
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
    /** Limits of this route, in addition to the plugin's; `false` turns off all limits. */
    spillway?: RouteLimits;
  }
  interface FastifyInstance {
    /** `inProgress` and `close` of this context's latest registration. Closing the app also calls `close`. */
    spillway: GuardHandle;
  }
}
