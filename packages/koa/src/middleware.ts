import type { Admission, GuardOptions, Limiter } from '@spillway/core';
import {
  type AddressOptions,
  compileAddressing,
  Gate,
  type GuardHandle,
  isLater,
  type OwnNames,
  type Passage,
  showGuard,
} from '@spillway/core/adapter';
import type { Context, Next } from 'koa';
import { watchResponse } from './answer.js';
import { keepFieldsOnError } from './errors.js';
import { KoaExchange } from './koa-exchange.js';
import { KoaRequest } from './koa-request.js';

/** Options of the adapter. */
export interface SpillwayOptions extends GuardOptions<Context>, AddressOptions {
  /**
   * Answers a rejected request instead of the problem document, by setting a body or another status. Status and headers
   * are already set, except `Content-Type`. If it throws, Koa answers 500. If it ends without an answer, has none
   * after 10 s, or calls `next()`, the problem document is sent.
   */
  readonly onRejected?: ((admission: Admission, ctx: Context, next: Next) => unknown) | undefined;
}

const OWN: OwnNames<SpillwayOptions> = { onRejected: 1 };

/** The middleware, with `close` and `inProgress` of its guard. */
export interface SpillwayMiddleware extends GuardHandle {
  (ctx: Context, next: Next): unknown;
}

/**
 * Koa middleware: a request passes if every limiter admits it, and is otherwise rejected, for example with 429 or 503.
 * `admissionsOf(ctx)` returns the decisions.
 *
 * @throws SpillwayError for wrong options, and as `createGuard` does
 * @example
 * ```ts
 * import { rateLimit, spillway } from '@spillway/koa';
 * import Koa from 'koa';
 *
 * new Koa().use(spillway(rateLimit({ limit: 100, window: '1m' })));
 * ```
 */
export function spillway(
  limiters: Limiter<Context> | readonly Limiter<Context>[],
  options: SpillwayOptions = {},
): SpillwayMiddleware {
  const gate = new Gate<Context>(limiters, options, OWN).expectRequests();
  const addressing = compileAddressing(options, gate.notices);
  const { onRejected } = options;

  const applyPassage = (
    passage: Passage,
    exchange: KoaExchange,
    ctx: Context,
    next: Next,
  ): unknown => {
    if (passage === 'gone') return undefined;
    keepFieldsOnError(ctx);
    if (passage === 'pass') {
      return exchange.watcher ? watchResponse(ctx, exchange, exchange.watcher, next) : next();
    }
    if (passage === 'answered') return undefined;
    return (
      onRejected &&
      exchange.answerWith(
        (admission, own) => onRejected(admission, ctx, async () => own.wentOn()),
        gate.report,
      )
    );
  };

  const handle = (ctx: Context, next: Next): unknown => {
    const exchange = new KoaExchange(ctx, onRejected !== undefined);
    const request = new KoaRequest(ctx, ctx.req, addressing);
    const passage = gate.enter(request, exchange, ctx);
    return isLater(passage)
      ? passage.then((value) => applyPassage(value, exchange, ctx, next))
      : applyPassage(passage, exchange, ctx, next);
  };
  return showGuard(handle, gate);
}
