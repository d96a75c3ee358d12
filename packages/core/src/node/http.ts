import { SpillwayError } from '../base/errors.js';
import { isLater } from '../base/host.js';
import type { Admission } from '../contract/admission.js';
import type { Limiter } from '../contract/limiter.js';
import type { GuardOptions } from '../guard/guard-options.js';
import { type AddressOptions, compileAddressing } from '../net/client.js';
import { Gate, type GuardHandle, type OwnNames, type Passage, showGuard } from '../passage/gate.js';
import {
  NodeExchange,
  type NodeIncoming,
  NodeLimitRequest,
  type NodeResponse,
} from './node-exchange.js';

export interface NodeGuardOptions<
  Req extends NodeIncoming = NodeIncoming,
  Res extends NodeResponse = NodeResponse,
> extends GuardOptions<Req>,
    AddressOptions {
  /**
   * Answers a rejected request instead of the problem document. Status and headers are already set, except
   * `Content-Type`. If it throws, the guard sets status 500 and rethrows the error. The problem document is sent if the
   * answer doesn't begin within 10 s, or within 1 s after the promise of `onRejected` settles.
   */
  readonly onRejected?: ((admission: Admission, req: Req, res: Res) => unknown) | undefined;
}

const OWN: OwnNames<NodeGuardOptions> = { onRejected: 1 };

const NO_MIDDLEWARE =
  'nodeGuard() does not return middleware: call its guard in the listener, as in ' +
  'if (await guard(req, res)) app(req, res), or give spillway() of your framework to app.use()';

/** The guard of {@link nodeGuard}: returns whether the listener may proceed. */
export interface NodeGuard<
  Req extends NodeIncoming = NodeIncoming,
  Res extends NodeResponse = NodeResponse,
> extends GuardHandle {
  (req: Req, res: Res): boolean | Promise<boolean>;
}

/**
 * Guards a node:http listener. The guard returns true if the listener may proceed, and false if the request is
 * rejected, a stored response is replayed, or the client is gone. It returns a promise only if the store, a callback or
 * an `idempotency()` does. `admissionsOf(req)` returns the admissions.
 *
 * CORS preflights pass the guard without being counted, and reach the listener. Answer them before you call the guard.
 * If the listener handles `OPTIONS` like any other method, set `preflights: 'count'`. Otherwise clients can avoid the
 * limits by sending preflights.
 *
 * @throws SpillwayError for invalid options, like `createGuard`
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { rateLimit } from '@spillway/core';
 * import { nodeGuard } from '@spillway/core/node';
 *
 * const guard = nodeGuard(rateLimit({ limit: 100, window: '1m' }));
 * createServer(async (req, res) => {
 *   if (await guard(req, res)) res.end('Hello');
 * });
 * ```
 */
export function nodeGuard<
  Req extends NodeIncoming = NodeIncoming,
  Res extends NodeResponse = NodeResponse,
>(
  limiters: Limiter<Req> | readonly Limiter<Req>[],
  options: NodeGuardOptions<Req, Res> = {},
): NodeGuard<Req, Res> {
  const gate = new Gate<Req>(limiters, options, OWN).expectRequests();
  const addressing = compileAddressing(options, gate.notices);
  const { onRejected } = options;

  const applyPassage = (
    passage: Passage,
    exchange: NodeExchange,
    req: Req,
    res: Res,
  ): boolean | Promise<boolean> => {
    if (passage !== 'rejected' || !onRejected) return passage === 'pass';
    const later = exchange.answerWith((admission) => onRejected(admission, req, res), gate.report);
    return later ? later.then(() => false) : false;
  };

  const handle = (req: Req, res: Res, next?: unknown): boolean | Promise<boolean> => {
    // As middleware, the guard would never call `next`, and requests would hang silently.
    if (next !== undefined) throw new SpillwayError('SPW_OPTION_INVALID', NO_MIDDLEWARE);
    const exchange = new NodeExchange(req, res, onRejected !== undefined);
    const request = new NodeLimitRequest(req, req, addressing);
    const passage = gate.enter(request, exchange, req);
    return isLater(passage)
      ? passage.then((value) => applyPassage(value, exchange, req, res))
      : applyPassage(passage, exchange, req, res);
  };
  return showGuard(handle, gate);
}
