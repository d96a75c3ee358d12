import type { Duration } from '../base/duration.js';

/** The request in a form that is the same for all frameworks. `raw` is the framework's request object. */
export interface LimitRequest<Raw = unknown> {
  /** HTTP method, upper case. */
  readonly method: string;
  /** The full path without the query, as the client sent it. Not a good key: use `route`. */
  readonly path: string;
  /** The pattern of the matched route, if the framework knows it. */
  readonly route?: string | undefined;
  /**
   * The client's canonical address, with IPv6 cut to `ipv6Prefix` bits (default 64); undefined if unknown. It comes
   * from the socket or the option `clientIp`. `X-Forwarded-For` is read only if a proxy is trusted.
   */
  readonly clientIp: string | undefined;
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  readonly raw: Raw;
  /** For adapters: the object that handlers pass to a meter's `of`, if it is not {@link raw}. */
  readonly holder?: object | undefined;
  /**
   * For adapters: called by the guard if a limiter counts by address and the address can't be known. `enforced` says
   * whether the limiter is in the mode `enforce`. Returns true if the adapter reports the problem to the app.
   */
  missesAddress?(enforced: boolean): boolean;
  /**
   * For adapters: like {@link clientIp}, for code that only compares addresses. It doesn't warn about an address that
   * is missing or not trusted.
   */
  peekAddress?(): string | undefined;
  /**
   * For adapters: makes the platform wait for `promise`, such as the probe of a failed store. Returns true if the
   * platform waits. Needed on platforms that stop all work of a request when its response ends.
   */
  waitUntil?(promise: Promise<unknown>): boolean;
}

/** A value, or a function of the request. */
export type Per<Raw, Value> = Value | ((request: LimitRequest<Raw>) => Value);

/**
 * A value, or a function of the request that may return a promise. A guard waits for the promises of one request
 * together, for at most `callbackTimeout`. A promise that is late or rejects counts as a function that throws.
 */
export type PerLater<Raw, Value> =
  | Value
  | ((request: LimitRequest<Raw>) => Value | PromiseLike<Value>);

/**
 * A key: a string, or a list of strings that only together identify a caller, such as a tenant and a user. Two
 * different lists are different keys, and a list never equals a string. A list with a missing part counts as a missing
 * key.
 */
export type KeyParts = string | readonly (string | undefined)[] | undefined;

/**
 * The option `key` of a limiter: one string for all requests, or a function of the request as in {@link PerLater}. The
 * limiter has a separate count for each key.
 */
export type KeyOption<Raw> =
  | string
  | ((request: LimitRequest<Raw>) => KeyParts | PromiseLike<KeyParts>);

/**
 * The numbers of a plan. At least one property must be set. For a number that is omitted or null, the declared one
 * applies.
 */
export interface Plan {
  /** Label for metrics and for the policy of decisions: 1 to 64 printable ASCII characters. */
  readonly name?: string | null | undefined;
  /**
   * Units per window, or requests in flight: an integer from 0 to 1,000,000,000. 0 rejects every request or, with
   * `overage`, admits it.
   */
  readonly limit?: number | null | undefined;
  /** For rate limits: `'1m'`, or milliseconds, from 1 ms to 400 days. */
  readonly window?: Duration | null | undefined;
  /** For token buckets: the most units at once, an integer from 1 to 1,000,000,000. */
  readonly burst?: number | null | undefined;
}

/** Looks up the plan of a request. If it returns null or undefined, the declared numbers apply. */
export type PlanOption<Raw> = (
  request: LimitRequest<Raw>,
) => Plan | null | undefined | PromiseLike<Plan | null | undefined>;

/** The name and value of a header. */
export type Header = readonly [name: string, value: string];
