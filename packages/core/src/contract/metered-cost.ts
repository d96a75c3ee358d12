/**
 * The interface between limiters and meters, for costs that are known only after the request. Limiters call a meter
 * only through its `cost`, so bundles without meters don't contain the code of meters.
 */

import type { StoredLimiter } from './limiter.js';
import type { LimitRequest } from './request.js';
import type { Answer, Rule } from './rule.js';
import type { Step } from './store.js';

/** Connects a limit to a meter, as the value of the limit's option `cost`. Returned by `cost()` of a {@link Meter}. */
export interface MeteredCost<Raw = unknown, Usage = unknown> {
  /** Returns the cost of the reservation. */
  (request: LimitRequest<Raw>): number | Promise<number>;
  readonly metered: MeterHooks<Raw>;
  /** Never set; gives `settle` its type. */
  readonly usage?: Usage;
}

export interface MeterHooks<Raw = unknown> {
  makeRule(rule: Rule): Rule;
  inGuard(options: { readonly key?: unknown; readonly refundIf?: unknown }): GuardHooks<Raw>;
  /**
   * Adds the method `settle` to a limiter without HTTP, and lets it accept reservations.
   *
   * @param limit the `Limit` of the limiter
   * @param client the `DirectClient` of the limiter
   */
  extend(limiter: object, limit: unknown, client: unknown): void;
}

export interface GuardHooks<Raw> {
  /** Caps the cost at the maximum reservation. The part of `atLeast` beyond that becomes {@link Step.owed}. */
  complete(step: Step, request: LimitRequest<Raw>): Step;
  readonly begin: NonNullable<StoredLimiter<Raw>['begin']>;
  readonly finish: NonNullable<StoredLimiter<Raw>['finish']>;
}

export function meteredOf<Raw = unknown>(cost: unknown): MeterHooks<Raw> | undefined {
  return (cost as Partial<MeteredCost<Raw>> | undefined)?.metered;
}

/** A usage to reserve, for calls without HTTP. `reserve()` of a {@link Meter} returns it. */
export interface Reservation<Usage = unknown> {
  readonly usage: Usage;
  /** The usage that is owed as soon as the call is admitted. */
  readonly atLeast: Usage | undefined;
}

export interface Grant {
  readonly step: Step;
  readonly answer: Answer;
}
