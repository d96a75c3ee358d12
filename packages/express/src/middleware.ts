/** The middleware: translates a request, applies what the guard says, and decides nothing itself. */

import {
  type Admission,
  checkIpv6Prefix,
  createGuard,
  type Guard,
  type GuardOptions,
  isSpillwayError,
  type Limiter,
  rememberAdmission,
  type SpillwayError,
  type TrustProxy,
  tellFault,
} from '@spillway/core';
import { endRefused, isGone, releaseOnClose, writeHead } from '@spillway/core/node';
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

/** The middleware, with its guard's `close`. */
export type SpillwayHandler = RequestHandler & Pick<Guard<Request>, 'close'>;

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
  const guard = createGuard<Request>(limiters, options);

  /** An exception of our own must not fail the request, and must not pass in silence. */
  const report = (error: unknown): void =>
    tellFault(options.onFault, { limiter: '', source: 'adapter', error });

  const ask = (req: Request): Admission | Promise<Admission> | SpillwayError | undefined => {
    try {
      const trust = trustOf(req);
      if (isSpillwayError(trust)) return trust;
      return guard.admit(new ExpressRequest(req, trust, ipv6Prefix));
    } catch (error) {
      report(error);
      return undefined;
    }
  };

  const apply = (admission: Admission, req: Request, res: Response, next: NextFunction): void => {
    let passes = true;
    try {
      rememberAdmission(req, admission);
      if (admission.pending) releaseOnClose(admission, req, res);
      writeHead(admission, res, onRefused === undefined);
      if (!admission.allowed && !onRefused) endRefused(admission, res);
      passes = admission.allowed;
    } catch (error) {
      report(error);
    }
    if (passes) next();
    else if (onRefused) answerOwn(onRefused, admission, req, res, next);
  };

  const handle: RequestHandler = (req, res, next) => {
    const asked = ask(req);
    if (asked === undefined) next();
    else if (isSpillwayError(asked)) next(asked);
    else if (!('then' in asked)) apply(asked, req, res, next);
    else {
      asked.then(
        (admission) => {
          if (isGone(req, res)) admission.release({ aborted: true });
          else apply(admission, req, res, next);
        },
        (error: unknown) => {
          report(error);
          next();
        },
      );
    }
  };
  return Object.assign(handle, { close: () => guard.close() });
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
    if (later instanceof Promise) later.catch(next);
  } catch (error) {
    next(error);
  }
}
