/** What the kit must know about a service behind an adapter. */

/** A running service with the demo API, started with FOUR=1 LIMIT=5 WINDOW=1h TRUST_PROXY=1. */
export interface AdapterTarget {
  /** The address of the service, such as `http://127.0.0.1:3000`. Called by each check. */
  url(): string | Promise<string>;
}

/** Options of {@link adapterConformance}. */
export interface AdapterOptions {
  /**
   * The header from which the service reads a client's address. Default `'x-forwarded-for'`, of which the service must
   * use the last entry; any other header must hold one address.
   */
  readonly addressHeader?: string;
  /**
   * Whether the service has the worker shedder. False for a runtime whose event loop cannot be watched. Default true.
   */
  readonly workers?: boolean;
  /**
   * True if one guard decides a route's limits together with those of all routes, as in NestJS. If one limit rejects a
   * request, none is charged. Default false: the route has a second guard.
   */
  readonly oneGuard?: boolean;
  /** False if the platform may send a body without its length. Default true. */
  readonly lengths?: boolean;
  /**
   * False if the platform does not report that a client disconnected before its reply started. Then its permit is freed
   * only when the lease expires. Default true.
   */
  readonly aborts?: boolean;
}

export type AdapterSettings = Required<AdapterOptions>;

/** The default header for addresses. */
export const FORWARDED = 'x-forwarded-for';
