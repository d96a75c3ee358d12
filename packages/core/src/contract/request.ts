/** A request as limiters see it, whatever the framework, and the options that are functions of a request. */

import type { Duration } from '../base/duration.js';

/** The neutral request that adapters make; `raw` is the framework's own. */
export interface LimitRequest<Raw = unknown> {
  /** HTTP method, upper case. */
  readonly method: string;
  /** Path without the query, whole and as the client sent it. Never a good key: see the route. */
  readonly path: string;
  /** The matched route's pattern, where the framework knows it. */
  readonly route?: string | undefined;
  /**
   * The client's address in canonical form (IPv6 by /64), from the socket or from trusted proxies only; undefined where
   * it cannot be known.
   */
  readonly clientIp: string | undefined;
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  readonly raw: Raw;
  /**
   * Told by a guard, where it is there, that a limiter counts by an address that cannot be known; `enforced` says
   * whether the limiter enforces. True if the adapter tells the app so itself.
   */
  missesAddress?(enforced: boolean): boolean;
  /**
   * For adapters: {@link clientIp} for who only compares addresses and counts by none, so that nothing is told of one
   * that is missing or not trusted.
   */
  peekAddress?(): string | undefined;
  /**
   * For adapters of platforms that end with a request what it has begun: true if the platform now waits for `promise`.
   * Only used while a store does not answer, to ask it whether it is back.
   */
  waitUntil?(promise: Promise<unknown>): boolean;
}

/** A value, or a function of the request. */
export type Per<Raw, Value> = Value | ((request: LimitRequest<Raw>) => Value);

/**
 * A value, or a function of the request that may answer with a promise. A guard waits for the promises of one request
 * together, at most its `callbackTimeout`; one that is late or rejects counts as a function that throws.
 */
export type PerLater<Raw, Value> =
  | Value
  | ((request: LimitRequest<Raw>) => Value | PromiseLike<Value>);

/**
 * A key: one text, or several that only together tell callers apart, such as a tenant and a user. No two lists are the
 * same key, and none is that of a text. A list of which a part is missing is no key.
 */
export type KeyParts = string | readonly (string | undefined)[] | undefined;

/** What is counted apart: one text for all requests, or a function of the request, as in {@link PerLater}. */
export type KeyOption<Raw> =
  | string
  | ((request: LimitRequest<Raw>) => KeyParts | PromiseLike<KeyParts>);

/** The numbers of a plan. Omitted or null: as declared. At least one must be given. */
export interface Plan {
  /** Labels metrics and the policy of decisions: 1 to 64 printable ASCII characters. */
  readonly name?: string | null | undefined;
  /** Units per window, or requests in progress at once: an integer from 0 to 1,000,000,000. 0 lets nobody pass. */
  readonly limit?: number | null | undefined;
  /** Of a rate limit: `'1m'`, or milliseconds, from 1 ms to 400 days. */
  readonly window?: Duration | null | undefined;
  /** Of a token bucket: units at once, an integer from 1 to 1,000,000,000. */
  readonly burst?: number | null | undefined;
}

/** What a plan is looked up by; nothing means that the declared numbers apply. */
export type PlanOption<Raw> = (
  request: LimitRequest<Raw>,
) => Plan | null | undefined | PromiseLike<Plan | null | undefined>;

/** Name and value. */
export type Header = readonly [name: string, value: string];
