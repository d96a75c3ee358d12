import type { Admission, GuardOptions, Limiter } from '@spillway/core';
import {
  type AddressOptions,
  Gate,
  type GuardHandle,
  isLater,
  type OwnNames,
  type Passage,
  showGuard,
} from '@spillway/core/adapter';
import { NodeExchange } from '@spillway/core/node';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { ExpressRequest } from './express-request.js';
import { addressingFinder } from './trust.js';

/** Options of the adapter. */
export interface SpillwayOptions extends GuardOptions<Request>, AddressOptions {
  /**
   * Answers a rejected request instead of the problem document. Status and headers are already set, except
   * `Content-Type`. If it throws or calls `next(error)`, the app's error handler answers, with status 500. If it
   * doesn't begin to answer within 10 s, or calls `next()`, the problem document is sent.
   */
  readonly onRejected?:
    | ((admission: Admission, req: Request, res: Response, next: NextFunction) => unknown)
    | undefined;
}

const OWN: OwnNames<SpillwayOptions> = { onRejected: 1 };

/** The middleware, with `close` and `inProgress` of its guard. Routes after it keep the types of their requests. */
export interface SpillwayHandler extends GuardHandle {
  <Params, ResBody, ReqBody, Query, Locals extends Record<string, unknown>>(
    req: Request<Params, ResBody, ReqBody, Query, Locals>,
    res: Response<ResBody, Locals>,
    next: NextFunction,
  ): void;
}

/**
 * Express middleware: a request passes if every limiter admits it, and is otherwise answered with 429 (or 503).
 *
 * While the app's setting `trust proxy` is `true`, no proxy is trusted, and `logger` gets one warning.
 *
 * @throws SpillwayError for wrong options, and as `createGuard` does
 * @example
 * ```ts
 * import { rateLimit, spillway } from '@spillway/express';
 *
 * app.use(spillway(rateLimit({ limit: 100, window: '1m' })));
 * ```
 */
export function spillway(
  limiters: Limiter<Request> | readonly Limiter<Request>[],
  options: SpillwayOptions = {},
): SpillwayHandler {
  const gate = new Gate<Request>(limiters, options, OWN).expectRequests();
  const { onRejected } = options;
  const addressingOf = addressingFinder(options, gate.notices);

  const applyPassage = (
    passage: Passage,
    exchange: NodeExchange,
    req: Request,
    res: Response,
    next: NextFunction,
  ): void => {
    if (passage === 'pass') next();
    else if (passage === 'rejected' && onRejected) {
      try {
        exchange.answerWith(ownAnswer(onRejected, req, res, next), gate.report)?.catch(next);
      } catch (error) {
        next(error);
      }
    }
  };

  const handle: RequestHandler = (req, res, next) => {
    const exchange = new NodeExchange(req, res, onRejected !== undefined);
    const request = new ExpressRequest(req, addressingOf(req));
    const passage = gate.enter(request, exchange, req);
    if (isLater(passage)) passage.then((value) => applyPassage(value, exchange, req, res, next));
    else applyPassage(passage, exchange, req, res, next);
  };
  return showGuard(handle as SpillwayHandler, gate);
}

/** Runs `onRejected` with a `next` that can only reach the app's error handler. */
function ownAnswer(
  onRejected: NonNullable<SpillwayOptions['onRejected']>,
  req: Request,
  res: Response,
  next: NextFunction,
): Parameters<NodeExchange['answerWith']>[0] {
  return (admission, own) => {
    const noNext: NextFunction = (error?: unknown) => {
      // `next('route')` would continue with the next route of this path.
      if (!error || error === 'route' || error === 'router') own.wentOn();
      else if (own.failed(error)) next(error);
    };
    // `res.sendFile` calls `req.next` if the path is a directory.
    req.next = noNext;
    return onRejected(admission, req, res, noNext);
  };
}
