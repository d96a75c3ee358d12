/** The guard of a fetch handler: `Request` in, `Response` or nothing out. */

import { isLater } from '../base/host.js';
import type { Admission } from '../contract/admission.js';
import type { Limiter } from '../contract/limiter.js';
import { createGuard } from '../guard/guard.js';
import type { Guard, GuardOptions } from '../guard/options.js';
import type { TrustProxy } from '../net/trust.js';
import { Notices } from '../observe/notices.js';
import { admissionBefore, rememberAdmission } from '../passage/admissions.js';
import { AddressedRequest, AddressFinder, type AddressOptions } from './address.js';
import { type Permit, ResponsePermits } from './permit.js';
import { goneResponse, refusalResponse, withFields } from './response.js';
import type { HostResponse, WebRequest, WebResponse } from './web.js';

export interface FetchGuardOptions<
  Req extends WebRequest = WebRequest,
  Rest extends readonly unknown[] = readonly unknown[],
> extends GuardOptions<Req> {
  /**
   * The address of the peer, from the request or from what the platform passes beside it. Without it a limiter that
   * enforces and
   * needs the address makes its request fail with `SPW_ADDRESS_REQUIRED`; one in shadow only tells `onFault`.
   */
  readonly clientIp?: (request: Req, ...rest: Rest) => string | null | undefined;
  /**
   * The proxies whose X-Forwarded-For is believed: how many stand in front of this server, or their addresses. Default:
   * none.
   */
  readonly trustProxy?: TrustProxy | undefined;
  /** How many bits tell IPv6 clients apart, 32 to 128. Default 64. */
  readonly ipv6Prefix?: number | undefined;
  /**
   * Keeps the platform from ending work before a permit is given back, or before a store that did not answer has said
   * whether it is
   * back: `(promise, request, env, ctx) => ctx.waitUntil(promise)`.
   */
  readonly waitUntil?:
    | ((promise: Promise<unknown>, request: Req, ...rest: Rest) => void)
    | undefined;
}

/** What a guard says of one request. */
export interface FetchCheck {
  readonly admission: Admission;
  /** The answer to a request that was refused, or whose client is gone; undefined: go on, then `finish` or `fail`. */
  readonly response: HostResponse | undefined;
  /** Adds the fields to the final response, and gives back what is held when its body is over. */
  finish<Res extends WebResponse>(response: Res): Res;
  /** For a handler that failed: gives back what is held. */
  fail(): void;
}

/** What {@link fetchGuard} returns. */
export interface FetchGuard<Req extends WebRequest, Rest extends readonly unknown[]> {
  /** The handler behind the limits. What it throws is thrown. */
  wrap<Args extends Rest, Res extends WebResponse>(
    handler: (request: Req, ...rest: Args) => Res | Promise<Res>,
  ): (request: Req, ...rest: Args) => Promise<Res>;
  /**
   * Decides on a request, for where no handler can be wrapped. Asked again about the same object, it says the same and
   * counts nothing.
   */
  check(request: Req, ...rest: Rest): Promise<FetchCheck>;
  /** Gives back the permits of all requests still in progress: for a process that ends. */
  close(): Promise<void>;
  /** Permits held now: a gauge. */
  readonly inProgress: number;
}

/**
 * Limits for whatever is a function of `Request`: Bun.serve, Deno.serve, Next.js, bare Workers. CORS preflights pass
 * uncounted:
 * answer them before, or, where the handler does not look at the method, set `preflights: 'count'`.
 *
 * @throws SpillwayError for wrong options; also those of `createGuard`. At a request: `SPW_ADDRESS_REQUIRED`.
 * @example
 * ```ts
 * import { rateLimit } from '@spillway/core';
 * import { fetchGuard } from '@spillway/core/fetch';
 *
 * const limits = fetchGuard(rateLimit({ limit: 100, window: '1m' }), {
 *   clientIp: (request: Request) => request.headers.get('cf-connecting-ip'), // on Cloudflare; else as your host does
 * });
 * const handler = limits.wrap(async () => new Response('Hello'));
 * ```
 */
export function fetchGuard<
  Req extends WebRequest = WebRequest,
  Rest extends readonly unknown[] = readonly unknown[],
>(
  limiters: Limiter<Req> | readonly Limiter<Req>[],
  options: FetchGuardOptions<Req, Rest> = {},
): FetchGuard<Req, Rest> {
  return new RequestGuard(limiters, options);
}

class RequestGuard<Req extends WebRequest, Rest extends readonly unknown[]>
  implements FetchGuard<Req, Rest>
{
  private readonly guard: Guard<Req>;
  private readonly permits: ResponsePermits;
  /** Requests that are being decided on. */
  private readonly underWay = new WeakMap<Req, Promise<Admission>>();
  private readonly finder: AddressFinder<readonly [Req, ...Rest]>;
  private readonly notices: Notices;
  private readonly options: FetchGuardOptions<Req, Rest>;

  constructor(
    limiters: Limiter<Req> | readonly Limiter<Req>[],
    options: FetchGuardOptions<Req, Rest>,
  ) {
    this.options = options;
    this.finder = new AddressFinder(options as AddressOptions<readonly [Req, ...Rest]>);
    this.permits = new ResponsePermits(options.onFault, options.logger);
    this.guard = createGuard(limiters, options);
    this.notices = new Notices(options);
  }

  wrap<Args extends Rest, Res extends WebResponse>(
    handler: (request: Req, ...rest: Args) => Res | Promise<Res>,
  ): (request: Req, ...rest: Args) => Promise<Res> {
    return async (request, ...rest) => {
      const check = await this.check(request, ...rest);
      // The runtime has one class of responses, whatever its types call it.
      if (check.response) return check.response as WebResponse as Res;
      try {
        return check.finish(await handler(request, ...rest));
      } catch (error) {
        check.fail();
        throw error;
      }
    };
  }

  async check(request: Req, ...rest: Rest): Promise<FetchCheck> {
    const first = this.underWay.get(request);
    if (first) await first;
    const before = admissionBefore(request, this.guard, this.notices);
    if (before) return new Checked(before, request, 'again', undefined);
    const { waitUntil } = this.options;
    const asking = new FetchRequest(request, this.finder, [request, ...rest], waitUntil);
    const asked = this.guard.admit(asking);
    const waited = isLater(asked);
    if (waited) this.underWay.set(request, asked);
    const admission = waited ? await asked : asked;
    asking.checkAddress(admission);
    rememberAdmission(request, admission);
    const isGone = waited && request.signal?.aborted === true;
    if (isGone) admission.release({ aborted: true });
    const permit = this.permitFor(admission, request, rest);
    return new Checked(admission, request, isGone ? 'gone' : 'first', permit);
  }

  close(): Promise<void> {
    return this.guard.close();
  }

  get inProgress(): number {
    return this.guard.inProgress;
  }

  private permitFor(admission: Admission, request: Req, rest: Rest): Permit | undefined {
    if (!admission.pending) return undefined;
    const { waitUntil } = this.options;
    return this.permits.hold(
      admission,
      request.signal,
      waitUntil && ((promise) => waitUntil(promise, request, ...rest)),
    );
  }
}

class Checked implements FetchCheck {
  readonly response: HostResponse | undefined;
  readonly admission: Admission;
  private readonly request: WebRequest;
  /** `again`: this guard has let it pass before, and dresses its response there. */
  private readonly turn: 'first' | 'again' | 'gone';
  private readonly permit: Permit | undefined;

  constructor(
    admission: Admission,
    request: WebRequest,
    /** `again`: this guard has let it pass before, and dresses its response there. */
    turn: 'first' | 'again' | 'gone',
    permit: Permit | undefined,
  ) {
    this.admission = admission;
    this.request = request;
    this.turn = turn;
    this.permit = permit;
    if (turn === 'gone') this.response = goneResponse();
    else if (!admission.allowed) this.response = refusalResponse(admission, request.method);
  }

  finish<Res extends WebResponse>(response: Res): Res {
    if (this.turn === 'again') return response;
    const dressed = withFields(response, this.admission.fields);
    return this.permit?.follow(dressed, this.request.method !== 'HEAD') ?? dressed;
  }

  fail(): void {
    this.permit?.release({ aborted: false });
  }
}

class FetchRequest<
  Req extends WebRequest,
  Args extends readonly unknown[],
> extends AddressedRequest<Req, Args> {
  readonly raw: Req;
  private readonly all: Args;
  private readonly keep: ((promise: Promise<unknown>, ...args: Args) => void) | undefined;

  constructor(
    raw: Req,
    finder: AddressFinder<Args>,
    all: Args,
    keep: ((promise: Promise<unknown>, ...args: Args) => void) | undefined,
  ) {
    super(finder, all);
    this.raw = raw;
    this.all = all;
    this.keep = keep;
  }

  waitUntil(promise: Promise<unknown>): boolean {
    this.keep?.(promise, ...this.all);
    return this.keep !== undefined;
  }

  get method(): string {
    return this.raw.method.toUpperCase();
  }

  get path(): string {
    const [, path = '/'] = /^[^/]*\/\/[^/?#]*([^?#]*)/.exec(this.raw.url) ?? [];
    return path || '/';
  }

  header(name: string): string | undefined {
    return this.raw.headers.get(name) ?? undefined;
  }
}
