/** A running service with the demo API, started with FOUR=1 LIMIT=5 WINDOW=1h TRUST_PROXY=1. */
export interface AdapterTarget {
  /** The address of the service, such as `http://127.0.0.1:3000`. Called by each check. */
  url(): string | Promise<string>;
}

/** Options of {@link adapterConformance}. */
export interface AdapterOptions {
  /**
   * The header from which the service reads a client's address. If it is `'x-forwarded-for'`, the default, the service
   * must use its last entry. Any other header must contain exactly one address.
   */
  readonly addressHeader?: string;
  /**
   * Whether the service has the worker shedder. False for a runtime whose event loop cannot be watched. Default true.
   */
  readonly workers?: boolean;
  /**
   * Whether one guard has both the limits of a route and the limits for all routes, as in NestJS. If one limit rejects
   * a request, none of them charges it. Default false: the route has a second guard.
   */
  readonly oneGuard?: boolean;
  /** False if the platform may send a body without its length. Default true. */
  readonly lengths?: boolean;
  /**
   * False if the platform does not report that a client disconnected before its reply started. Then the request's
   * permit is freed only when its lease expires. Default true.
   */
  readonly aborts?: boolean;
}

export type AdapterSettings = Required<AdapterOptions>;

export const FORWARDED = 'x-forwarded-for';
