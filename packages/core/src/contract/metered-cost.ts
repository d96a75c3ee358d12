/** A cost that is known afterwards, as limiters use it. The value brings its code, so that other limiters have none. */

import type { Answer } from './ask.js';
import type { StoredLimiter } from './limiter.js';
import type { LimitRequest } from './request.js';
import type { Rule } from './rule.js';
import type { Step } from './store.js';

/** The cost of one limit, for its option `cost`; what `cost()` of a {@link Meter} returns. */
export interface MeteredCost<Raw = unknown, Usage = unknown> {
  /** The cost of the reservation. */
  (request: LimitRequest<Raw>): number | Promise<number>;
  readonly metered: MeterHooks<Raw>;
  /** Only for the types of `settle`. */
  readonly usage?: Usage;
}

/** What a meter does for a limit. */
export interface MeterHooks<Raw = unknown> {
  /**
   * Adds the debt to a rule.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID` if its algorithm can't have debt
   */
  makeRule(rule: Rule): Rule;
  /**
   * Checks the options of a limit in a guard.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID`
   */
  inGuard(options: { readonly key?: unknown; readonly refundIf?: unknown }): GuardHooks<Raw>;
  /**
   * Gives a limiter without HTTP its method `settle`, and lets it take reservations.
   *
   * @param limit its `Limit`, and `client` its `DirectClient`
   */
  extend(limiter: object, limit: unknown, client: unknown): void;
}

/** What a meter does for a limit in a guard. */
export interface GuardHooks<Raw> {
  /** Limits the reservation of a step, and adds what is owed beyond it. */
  complete(step: Step, request: LimitRequest<Raw>): Step;
  readonly begin: NonNullable<StoredLimiter<Raw>['begin']>;
  readonly finish: NonNullable<StoredLimiter<Raw>['finish']>;
}

/** The code of a cost that is known afterwards; undefined for any other cost. */
export function meteredOf<Raw = unknown>(cost: unknown): MeterHooks<Raw> | undefined {
  return (cost as Partial<MeteredCost<Raw>> | undefined)?.metered;
}

/** A usage that is reserved by a call without HTTP; what `reserve()` of a {@link Meter} returns. */
export interface Reservation<Usage = unknown> {
  readonly usage: Usage;
  /** What is owed as soon as the call is admitted. */
  readonly atLeast: Usage | undefined;
}

/** A step that has charged, and the answer to it. */
export interface Grant {
  readonly step: Step;
  readonly answer: Answer;
}
