import { checkCallback } from '../base/checks.js';
import { disregard, isLater, Turns } from '../base/host.js';
import type { Admission } from '../contract/admission.js';
import type { Limiter } from '../contract/limiter.js';
import type { GuardOptions } from '../guard/guard-options.js';
import { pathOf } from '../net/target.js';
import { Gate, type OwnNames, type Passage } from '../passage/gate.js';
import { AddressedRequest, AddressFinder, type PeerOptions } from './address.js';
import { FetchExchange } from './fetch-exchange.js';
import { ResponsePermits, type WaitUntil } from './permit.js';
import { goneResponse } from './response.js';
import type { HostResponse, WebRequest, WebResponse } from './web.js';

export interface FetchGuardOptions<
  Req extends WebRequest = WebRequest,
  Rest extends readonly unknown[] = readonly unknown[],
> extends GuardOptions<Req>,
    PeerOptions<readonly [request: Req, ...rest: Rest]> {
  /**
   * Keeps the platform alive for work that follows the response, such as the release of permits. For Workers:
   * `(promise, request, env, ctx) => ctx.waitUntil(promise)`.
   */
  readonly waitUntil?:
    | ((promise: Promise<unknown>, request: Req, ...rest: Rest) => void)
    | undefined;
}

const OWN: OwnNames<FetchGuardOptions> = { clientIp: 1, waitUntil: 1 };

/** The result of a guard for one request. */
export interface FetchCheck {
  readonly admission: Admission;
  /**
   * The response to send if the request was rejected, its response is replayed, or the client is gone. If undefined,
   * run the handler, then call `finish` or `fail`.
   */
  readonly response: HostResponse | undefined;
  /** Adds the headers to the final response. The permits are released when its body ends. */
  finish<Res extends WebResponse>(response: Res): Res;
  /** Releases the permits. Call it if the handler failed. */
  fail(): void;
  /**
   * With `keepFirst` of `idempotency()`: after `finish`, await this promise before you send a response without a body.
   * It never rejects.
   */
  readonly kept?: Promise<void> | undefined;
}

/** The guard that {@link fetchGuard} returns. */
export interface FetchGuard<Req extends WebRequest, Rest extends readonly unknown[]> {
  /** Returns the handler, guarded by the limits. Errors of the handler are thrown unchanged. */
  wrap<Args extends Rest, Res extends WebResponse>(
    handler: (request: Req, ...rest: Args) => Res | Promise<Res>,
  ): (request: Req, ...rest: Args) => Promise<Res>;
  /**
   * Decides about a request, for code that can't wrap a handler. A second call with the same object returns the same
   * decision and counts nothing.
   */
  check(request: Req, ...rest: Rest): Promise<FetchCheck>;
  /** Releases the permits of all requests in flight; call it on shutdown. */
  close(): Promise<void>;
  /** The number of permits held now, for a gauge. */
  readonly inProgress: number;
}

/**
 * Limits for any handler of a `Request`: Bun.serve, Deno.serve, Next.js, bare Workers. CORS preflights reach the
 * handler uncounted. Answer them before the guard, or set `preflights: 'count'` if the handler does work for `OPTIONS`.
 *
 * @throws SpillwayError for invalid options, like `createGuard`. Requests can throw `SPW_ADDRESS_REQUIRED`.
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
  private readonly gate: Gate<Req>;
  private readonly permits: ResponsePermits;
  private readonly undecided = new WeakMap<Req, Promise<Passage>>();
  private readonly finder: AddressFinder<readonly [Req, ...Rest]>;
  private readonly waitUntil: FetchGuardOptions<Req, Rest>['waitUntil'];
  private readonly turns = new Turns();

  constructor(
    limiters: Limiter<Req> | readonly Limiter<Req>[],
    options: FetchGuardOptions<Req, Rest>,
  ) {
    this.gate = new Gate(limiters, options, OWN).expectRequests();
    checkCallback('waitUntil', options.waitUntil);
    this.waitUntil = options.waitUntil;
    this.finder = new AddressFinder(options, this.gate);
    this.permits = new ResponsePermits(this.gate.report);
  }

  wrap<Args extends Rest, Res extends WebResponse>(
    handler: (request: Req, ...rest: Args) => Res | Promise<Res>,
  ): (request: Req, ...rest: Args) => Promise<Res> {
    return async (request, ...rest) => {
      const check = await this.check(request, ...rest);
      // At run time, both types are the platform's `Response`.
      if (check.response) return check.response as WebResponse as Res;
      try {
        const response = check.finish(await handler(request, ...rest));
        if (check.kept) await check.kept;
        return response;
      } catch (error) {
        check.fail();
        throw error;
      }
    };
  }

  check(request: Req, ...rest: Rest): Promise<FetchCheck> {
    return this.turns.after(this.checkNow(request, rest));
  }

  private async checkNow(request: Req, rest: Rest): Promise<FetchCheck> {
    const first = this.undecided.get(request);
    if (first) await first;
    const { waitUntil } = this;
    const keepAlive: WaitUntil | undefined =
      waitUntil && ((promise) => waitUntil(promise, request, ...rest));
    const check = new Check(request, this.permits, keepAlive);
    const asking = new FetchRequest(request, this.finder, [request, ...rest], keepAlive);
    const passage = this.gate.enter(asking, check, request);
    if (!isLater(passage)) return check;
    this.undecided.set(request, passage);
    if ((await passage) === 'gone') check.response = goneResponse();
    return check;
  }

  close(): Promise<void> {
    return this.gate.close();
  }

  get inProgress(): number {
    return this.gate.inProgress;
  }
}

/** The admission that is reported if the guard itself failed. */
const EXCUSED: Admission = {
  allowed: true,
  decisions: [],
  binding: undefined,
  status: 200,
  headers: [],
  body: '',
  pending: false,
  release: () => undefined,
};

class Check extends FetchExchange implements FetchCheck {
  admission: Admission = EXCUSED;
  private readonly keepAlive: WaitUntil | undefined;

  constructor(request: WebRequest, permits: ResponsePermits, keepAlive: WaitUntil | undefined) {
    super(request, permits);
    this.keepAlive = keepAlive;
  }

  decided(admission: Admission): void {
    this.admission = admission;
  }

  protected override waitUntil(): WaitUntil | undefined {
    return this.keepAlive;
  }
}

class FetchRequest<
  Req extends WebRequest,
  Args extends readonly unknown[],
> extends AddressedRequest<Req, Args> {
  readonly raw: Req;
  private readonly keepAlive: WaitUntil | undefined;

  constructor(raw: Req, finder: AddressFinder<Args>, args: Args, keepAlive: WaitUntil | undefined) {
    super(finder, args);
    this.raw = raw;
    this.keepAlive = keepAlive;
  }

  waitUntil(promise: Promise<unknown>): boolean {
    const { keepAlive } = this;
    disregard(keepAlive?.(promise)); // it may be async and reject, but the call goes on
    return keepAlive !== undefined;
  }

  get method(): string {
    return this.raw.method.toUpperCase();
  }

  get path(): string {
    return pathOf(this.raw.url);
  }

  header(name: string): string | undefined {
    return this.raw.headers.get(name) ?? undefined;
  }
}
