/** What the kit needs to know of a service behind an adapter. */

/** A running service that offers the demo API, with FOUR=1 LIMIT=5 WINDOW=1h TRUST_PROXY=1. */
export interface AdapterTarget {
  /** Where it listens, such as `http://127.0.0.1:3000`; asked anew by each check. */
  url(): string | Promise<string>;
}

export interface AdapterOptions {
  /**
   * The header by which the service is told a client's address. Default `'x-forwarded-for'`, of which it must believe
   * the last entry; any other must hold one address.
   */
  readonly addressHeader?: string;
  /** Whether it has the worker shedder; false for a runtime without an event loop to watch. Default true. */
  readonly workers?: boolean;
  /**
   * True if the limits of a route are decided together with those of every route, by one guard, as in NestJS: then what
   * one of them refuses is charged by none. Default false: a second guard stands behind the first.
   */
  readonly oneGuard?: boolean;
  /** False where the platform may send a body without telling its length beforehand. Default true. */
  readonly lengths?: boolean;
  /**
   * False where the platform does not tell that a client went away before its answer began: its permit is free when the
   * lease expires. Default true.
   */
  readonly aborts?: boolean;
}

/** The options with their defaults. */
export type AdapterSettings = Required<AdapterOptions>;

/** The header that proxies write. */
export const FORWARDED = 'x-forwarded-for';
