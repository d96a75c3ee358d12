/** The middleware: translates a request, applies what the guard says, and decides nothing itself. */

import type { Admission, GuardOptions, Limiter, TrustProxy } from '@spillway/core';
import {
  checkIpv6Prefix,
  Gate,
  type GuardHandle,
  isLater,
  type Passage,
  showGuard,
} from '@spillway/core/adapter';
import { NodeExchange } from '@spillway/core/node';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { ExpressRequest } from './request.js';
import { trustFinder } from './trust.js';

export interface SpillwayOptions extends GuardOptions<Request> {
  /**
   * The proxies whose X-Forwarded-For is believed: how many stand in front of this server, or their addresses. Default:
   * Express' setting `trust proxy`, whose own default is none.
   */
  readonly trustProxy?: TrustProxy | undefined;
  /** How many bits tell IPv6 clients apart, 32 to 128. Default 64. */
  readonly ipv6Prefix?: number | undefined;
  /**
   * Answers a refused request instead of the problem document. The status and the fields are set already, save
   * `Content-Type`. It may return anything; only a promise is waited for. What it throws goes to the app's error
   * handler, as a 500.
   */
  readonly onRefused?:
    | ((admission: Admission, req: Request, res: Response, next: NextFunction) => unknown)
    | undefined;
}

/** The middleware, with `close` and `inProgress` of its guard. */
export type SpillwayHandler = RequestHandler & GuardHandle;

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
  const { trustProxy, ipv6Prefix, onRefused } = options;
  if (ipv6Prefix !== undefined) checkIpv6Prefix(ipv6Prefix);
  const gate = new Gate<Request>(limiters, options);
  const trustOf = trustFinder(trustProxy, gate.notices);

  const apply = (
    passage: Passage,
    exchange: NodeExchange,
    req: Request,
    res: Response,
    next: NextFunction,
  ): void => {
    if (passage === 'pass') next();
    else if (passage === 'refused' && onRefused) handOver(onRefused, exchange, req, res, next);
  };

  const handle: RequestHandler = (req, res, next) => {
    const exchange = new NodeExchange(req, res, onRefused !== undefined);
    const request = new ExpressRequest(req, trustOf(req), ipv6Prefix);
    const passage = gate.enter(request, exchange, req);
    if (isLater(passage)) passage.then((value) => apply(value, exchange, req, res, next));
    else apply(passage, exchange, req, res, next);
  };
  return showGuard(handle, gate);
}

/** Runs the app's own answer; what it throws is the app's to handle. */
function handOver(
  onRefused: NonNullable<SpillwayOptions['onRefused']>,
  exchange: NodeExchange,
  req: Request,
  res: Response,
  next: NextFunction,
): void {
  try {
    exchange.answerWith((admission) => onRefused(admission, req, res, next))?.catch(next);
  } catch (error) {
    next(error);
  }
}
