/** What the kit needs to know about a service behind an adapter. */

/** A running service with the demo API, started with FOUR=1 LIMIT=5 WINDOW=1h TRUST_PROXY=1. */
export interface AdapterTarget {
  /** The address at which it listens, such as `http://127.0.0.1:3000`. Called by each check. */
  url(): string | Promise<string>;
}

/** Options of {@link adapterConformance}. */
export interface AdapterOptions {
  /**
   * The header that tells the service a client's address. Default `'x-forwarded-for'`, of which the service must use
   * the last entry; any other header must hold one address.
   */
  readonly addressHeader?: string;
  /**
   * Whether the service has the worker shedder. False for a runtime whose event loop cannot be watched. Default true.
   */
  readonly workers?: boolean;
  /**
   * True if one guard decides the limits of a route together with those of all routes, as in NestJS. Then a request
   * that one of them refuses is charged by none. Default false: a second guard stands behind the first.
   */
  readonly oneGuard?: boolean;
  /** False where the platform may send a body without its length. Default true. */
  readonly lengths?: boolean;
  /**
   * False where the platform does not report that a client went away before its reply began: its permit is then free
   * when the lease expires. Default true.
   */
  readonly aborts?: boolean;
}

/** The options with their defaults. */
export type AdapterSettings = Required<AdapterOptions>;

/** The header that proxies write. */
export const FORWARDED = 'x-forwarded-for';
