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

/**
 * Options of the adapter. As `clientIp`, pass `(c) => getConnInfo(c).remote.address`, and import `getConnInfo` for your
 * runtime.
 */
export interface SpillwayOptions extends GuardOptions<Context>, PeerOptions<readonly [c: Context]> {
  /**
   * Answers a rejected request instead of the problem document: returns a Response, or sets `c.res`. `c.json()` and the
   * other methods of `c` use the status of the rejection, but a `new Response()` keeps its own status. The response
   * gets the headers of the rejection, except `Content-Type`. If the function throws, `app.onError` answers, with
   * status 500. If it ends without an answer, or has none after 10 s, the problem document is sent.
   */
  readonly onRejected?: OnRejected | undefined;
}

const OWN: OwnNames<SpillwayOptions> = { clientIp: 1, onRejected: 1 };

/** The variables that the middleware sets in Hono's context. */
export interface SpillwayVariables {
  /** The decisions of all limiters that ran, in order; undefined if no guard ran. */
  spillway: readonly Decision[] | undefined;
}

declare module 'hono' {
  interface ContextVariableMap extends SpillwayVariables {}
}

type Handled = Response | ReturnType<MiddlewareHandler>;

/** The middleware, with `close` and `inProgress` of its guard. */
export type SpillwayHandler = MiddlewareHandler & GuardHandle;

/**
 * Hono middleware: a request passes if every limiter admits it, and is otherwise rejected, for example with 429 or 503.
 *
 * @throws SpillwayError for wrong options, and as `createGuard` does. During a request, `SPW_ADDRESS_REQUIRED` goes
 * to the app's error handler.
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
  const finder = new AddressFinder<readonly [Context]>(options, gate);
  const permits = new ResponsePermits(gate.report);

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
