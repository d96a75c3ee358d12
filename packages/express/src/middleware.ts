/** The middleware: translates a request, applies what the guard says, and decides nothing itself. */

import {
  type Admission,
  checkIpv6Prefix,
  type GuardHandle,
  type GuardOptions,
  isSpillwayError,
  type Limiter,
  showGuard,
  type TrustProxy,
} from '@spillway/core';
import { endRefused, NodeGate, type Passage } from '@spillway/core/node';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { ExpressRequest } from './request.js';
import { trustFinder } from './trust.js';

export interface SpillwayOptions extends GuardOptions<Request> {
  /**
   * The proxies whose X-Forwarded-For is believed: how many stand in front of this server, or their addresses. Default:
   * Express' setting `trust proxy`, whose own default is none.
   */
  readonly trustProxy?: TrustProxy;
  /** How many bits tell IPv6 clients apart, 32 to 128. Default 64. */
  readonly ipv6Prefix?: number;
  /**
   * Answers a refused request instead of the problem document. The status and the fields are set already, save
   * `Content-Type`.
   */
  readonly onRefused?: (
    admission: Admission,
    req: Request,
    res: Response,
    next: NextFunction,
  ) => void | Promise<void>;
}

/** The middleware, with `close` and `inProgress` of its guard. */
export type SpillwayHandler = RequestHandler & GuardHandle;

/**
 * Express middleware that lets pass what every limiter lets pass, and answers the rest with 429 (or 503).
 *
 * @throws SpillwayError for wrong options; also those of `createGuard`. At a request, to the app's error handler:
 * `SPW_TRUST_PROXY_UNSAFE` while the app's setting `trust proxy` is `true`.
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
  const trustOf = trustFinder(trustProxy);
  const gate = new NodeGate<Request>(limiters, options);

  const apply = (passage: Passage, req: Request, res: Response, next: NextFunction): void => {
    if (passage === 'gone') return;
    if (passage === 'pass') next();
    else if (onRefused) answerOwn(onRefused, passage, req, res, next);
    else endRefused(passage, res);
  };

  const handle: RequestHandler = (req, res, next) => {
    const trust = trustOf(req);
    if (isSpillwayError(trust)) {
      next(trust);
      return;
    }
    const passage = gate.enter(new ExpressRequest(req, trust, ipv6Prefix), req, res, req);
    if (typeof passage === 'object' && 'then' in passage)
      passage.then((value) => apply(value, req, res, next));
    else apply(passage, req, res, next);
  };
  return showGuard(handle, gate);
}

/** Runs the app's own answer; what it throws is the app's to handle. */
function answerOwn(
  onRefused: NonNullable<SpillwayOptions['onRefused']>,
  admission: Admission,
  req: Request,
  res: Response,
  next: NextFunction,
): void {
  try {
    const later = onRefused(admission, req, res, next);
    if (later) later.then(undefined, next);
  } catch (error) {
    next(error);
  }
}
