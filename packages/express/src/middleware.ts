/** The middleware: translates a request, applies what the guard says, and decides nothing itself. */

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
import { ExpressRequest } from './request.js';
import { addressingFinder } from './trust.js';

/** Options of the adapter. */
export interface SpillwayOptions extends GuardOptions<Request>, AddressOptions {
  /**
   * Answers a rejected request in place of the problem document, which is sent after all if this calls `next()` or has
   * not answered after 10 s. The status and the fields are set already, except `Content-Type`. What it throws, or
   * passes to `next`, goes to the app's error handler, as a 500.
   */
  readonly onRefused?:
    | ((admission: Admission, req: Request, res: Response, next: NextFunction) => unknown)
    | undefined;
}

const OWN: OwnNames<SpillwayOptions> = { onRefused: 1 };

/** The middleware, with `close` and `inProgress` of its guard. A route behind it keeps the types of its own request. */
export interface SpillwayHandler extends GuardHandle {
  <Params, ResBody, ReqBody, Query, Locals extends Record<string, unknown>>(
    req: Request<Params, ResBody, ReqBody, Query, Locals>,
    res: Response<ResBody, Locals>,
    next: NextFunction,
  ): void;
}

/**
 * Express middleware that lets pass what every limiter lets pass, and answers the rest with 429 (or 503).
 *
 * While the app's setting `trust proxy` is `true`, no proxy is believed, and `logger` is told so in one line.
 *
 * @throws SpillwayError for wrong options; also those of `createGuard`
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
  const gate = new Gate<Request>(limiters, options, OWN);
  const { onRefused } = options;
  const addressingOf = addressingFinder(options, gate.notices);

  const apply = (
    passage: Passage,
    exchange: NodeExchange,
    req: Request,
    res: Response,
    next: NextFunction,
  ): void => {
    if (passage === 'pass') next();
    else if (passage === 'refused' && onRefused) {
      handOver((admission, own) => onRefused(admission, req, res, own), exchange, gate, res, next);
    }
  };

  const handle: RequestHandler = (req, res, next) => {
    const exchange = new NodeExchange(req, res, onRefused !== undefined);
    const request = new ExpressRequest(req, addressingOf(req));
    const passage = gate.enter(request, exchange, req);
    if (isLater(passage)) passage.then((value) => apply(value, exchange, req, res, next));
    else apply(passage, exchange, req, res, next);
  };
  return showGuard(handle as SpillwayHandler, gate);
}

type OwnAnswer = (admission: Admission, next: NextFunction) => unknown;

/** Runs the app's own answer; what it throws, or passes to `next`, is the app's to handle. */
function handOver(
  answer: OwnAnswer,
  exchange: NodeExchange,
  gate: Gate<Request>,
  res: Response,
  next: NextFunction,
): void {
  try {
    const later = exchange.answerWith(
      (admission, goOn) =>
        answer(admission, (error?: unknown) => {
          if (!error || error === 'route' || error === 'router') void goOn();
          else next(failed(res, error));
        }),
      (error) => gate.tell(error),
    );
    later?.catch(next);
  } catch (error) {
    next(error);
  }
}

/** Express answers an error with the status of the response, which is that of the rejection. */
function failed(res: Response, error: unknown): unknown {
  if (!res.headersSent) res.status(500);
  return error;
}
