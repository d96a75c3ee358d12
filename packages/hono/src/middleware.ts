/** The middleware: translates a request, applies what the guard says, and decides nothing itself. */

import type { Decision, GuardOptions, Limiter } from '@spillway/core';
import {
  Gate,
  type GuardHandle,
  isLater,
  type OwnNames,
  type Passage,
  showGuard,
} from '@spillway/core/adapter';
import {
  AddressFinder,
  goneResponse,
  type PeerOptions,
  ResponsePermits,
} from '@spillway/core/fetch';
import type { Context, MiddlewareHandler, Next } from 'hono';
import type { HonoExchange, OnRejected } from './hono-exchange.js';
import { HonoRequest } from './hono-request.js';
import { HonoFetchExchange } from './over-fetch.js';
import { HonoNodeExchange } from './over-node.js';

/** `clientIp` is `(c) => getConnInfo(c).remote.address`, with the `getConnInfo` of your runtime. */
export interface SpillwayOptions extends GuardOptions<Context>, PeerOptions<readonly [c: Context]> {
  /**
   * Answers a rejected request instead of the problem document: returns a Response, or sets `c.res`. The status and the
   * headers are set, except `Content-Type`. If it does neither, or not within 10 s, the problem document is sent after
   * all, and `onFault` is called. What it throws goes to `app.onError`, as a 500.
   */
  readonly onRejected?: OnRejected | undefined;
}

const OWN: OwnNames<SpillwayOptions> = { clientIp: 1, onRejected: 1 };

/** What the middleware puts into Hono's context. */
export interface SpillwayVariables {
  /** The decisions of all limiters that ran, first to last; undefined where no guard did. */
  spillway: readonly Decision[] | undefined;
}

declare module 'hono' {
  interface ContextVariableMap extends SpillwayVariables {}
}

type Handled = Response | ReturnType<MiddlewareHandler>;

/** The middleware, with `close` and `inProgress` of its guard. */
export type SpillwayHandler = MiddlewareHandler & GuardHandle;

/**
 * Hono middleware that lets pass what every limiter lets pass, and answers the rest with 429 (or 503).
 *
 * @throws SpillwayError for wrong options; also those of `createGuard`. At a request, to the app's error handler:
 * `SPW_ADDRESS_REQUIRED`.
 * @example
 * ```ts
 * import { getConnInfo } from '@hono/node-server/conninfo'; // each runtime has its own
 * import { rateLimit, spillway } from '@spillway/hono';
 * import { Hono } from 'hono';
 *
 * const app = new Hono();
 * app.use(spillway(rateLimit({ limit: 100, window: '1m' }), { clientIp: (c) => getConnInfo(c).remote.address }));
 * ```
 */
export function spillway(
  limiters: Limiter<Context> | readonly Limiter<Context>[],
  options: SpillwayOptions = {},
): SpillwayHandler {
  const gate = new Gate<Context>(limiters, options, OWN).expectRequests();
  const { onRejected } = options;
  const finder = new AddressFinder<readonly [Context]>(options, gate.notices);
  const permits = new ResponsePermits(options.onFault, options.logger);

  const applyPassage = (passage: Passage, exchange: HonoExchange, next: Next): Handled => {
    if (passage === 'gone') return goneResponse();
    return passage === 'pass' ? exchange.pass(next) : exchange.answer(onRejected, gate.report);
  };

  const handle = (c: Context, next: Next): Handled => {
    const exchange = HonoNodeExchange.forContext(c) ?? new HonoFetchExchange(c, permits);
    const passage = gate.enter(new HonoRequest(c, finder), exchange, c);
    return isLater(passage)
      ? passage.then((value) => applyPassage(value, exchange, next))
      : applyPassage(passage, exchange, next);
  };
  return showGuard(handle as MiddlewareHandler, gate);
}
