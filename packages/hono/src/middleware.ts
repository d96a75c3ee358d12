/** The middleware: translates a request, applies what the guard says, and decides nothing itself. */

import {
  type Admission,
  createGuard,
  type Decision,
  type Guard,
  type GuardOptions,
  type Limiter,
  type TrustProxy,
} from '@spillway/core';
import {
  admissionBefore,
  type GuardHandle,
  Notices,
  rememberAdmission,
  showGuard,
  tellFault,
} from '@spillway/core/adapter';
import { AddressFinder, goneResponse, ResponsePermits } from '@spillway/core/fetch';
import type { Context, MiddlewareHandler, Next } from 'hono';
import { FetchReply } from './over-fetch.js';
import { NodeReply } from './over-node.js';
import type { OnRefused, Reply } from './reply.js';
import { HonoRequest } from './request.js';

export interface SpillwayOptions extends GuardOptions<Context> {
  /**
   * The address of the peer: `(c) => getConnInfo(c).remote.address`, with the `getConnInfo` of your runtime. Without it
   * a limiter that enforces and needs the address makes its request fail with `SPW_ADDRESS_REQUIRED`; one in shadow
   * only
   * tells `onFault`.
   */
  readonly clientIp?: ((c: Context) => string | null | undefined) | undefined;
  /**
   * The proxies whose X-Forwarded-For is believed: how many stand in front of this server, or their addresses. Default:
   * none.
   */
  readonly trustProxy?: TrustProxy | undefined;
  /** How many bits tell IPv6 clients apart, 32 to 128. Default 64. */
  readonly ipv6Prefix?: number | undefined;
  /**
   * Answers a refused request instead of the problem document: gives a Response, or sets `c.res`; else the problem
   * document is sent
   * after all. The status and the fields are set, save `Content-Type`. What it throws goes to `app.onError`, as a 500.
   */
  readonly onRefused?: OnRefused | undefined;
}

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
  const way = new Way(limiters, options);
  const handle = (c: Context, next: Next): Handled => way.enter(c, next);
  return showGuard(handle as MiddlewareHandler, way);
}

/** The way of requests past one guard. */
class Way {
  private readonly guard: Guard<Context>;
  private readonly finder: AddressFinder<readonly [Context]>;
  private readonly permits: ResponsePermits;
  private readonly notices: Notices;
  private readonly options: SpillwayOptions;

  constructor(limiters: Limiter<Context> | readonly Limiter<Context>[], options: SpillwayOptions) {
    this.options = options;
    this.finder = new AddressFinder(options);
    this.permits = new ResponsePermits(options.onFault, options.logger);
    this.guard = createGuard(limiters, options);
    this.notices = new Notices(options);
  }

  enter(c: Context, next: Next): Handled {
    const before = admissionBefore(c, this.guard, this.notices);
    if (before) return before.allowed ? next() : this.refuse(before, this.replyTo(c));
    const request = new HonoRequest(c, this.finder);
    let asked: Admission | Promise<Admission>;
    try {
      asked = this.guard.admit(request);
    } catch (error) {
      return this.excuse(error, next);
    }
    if (!('then' in asked)) return this.apply(asked, request, next, false);
    return asked.then(
      (admission) => this.apply(admission, request, next, true),
      (error: unknown) => this.excuse(error, next),
    );
  }

  get inProgress(): number {
    return this.guard.inProgress;
  }

  close(): Promise<void> {
    return this.guard.close();
  }

  private apply(admission: Admission, request: HonoRequest, next: Next, waited: boolean): Handled {
    request.checkAddress(admission);
    const { raw: c } = request;
    const reply = this.replyTo(c);
    try {
      if (waited && reply.isGone()) {
        admission.release({ aborted: true });
        return goneResponse();
      }
      remember(c, admission);
      reply.prepare(admission);
    } catch (error) {
      return this.excuse(error, next);
    }
    return admission.allowed ? reply.pass(admission, next) : this.refuse(admission, reply);
  }

  private replyTo(c: Context): Reply {
    return NodeReply.of(c) ?? new FetchReply(c, this.permits);
  }

  private refuse(admission: Admission, reply: Reply): Response | Promise<Response> {
    const { onRefused } = this.options;
    return onRefused ? reply.refuseWith(onRefused, admission) : reply.refuse(admission);
  }

  /** An exception of our own must not fail the request, and must not pass in silence. */
  private excuse(error: unknown, next: Next): Handled {
    tellFault(this.options.onFault, { limiter: '', source: 'adapter', error }, this.options.logger);
    return next();
  }
}

function remember(c: Context, admission: Admission): void {
  rememberAdmission(c, admission);
  const before = c.get('spillway');
  c.set('spillway', before ? [...before, ...admission.decisions] : admission.decisions);
}
