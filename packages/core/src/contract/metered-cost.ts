/** A cost that is known afterwards, as limiters use it. The value brings its code, so that other limiters have none. */

import type { Eventually } from '../base/host.js';
import type { Admission } from './admission.js';
import type { Answer } from './ask.js';
import type { Decision } from './decision.js';
import type { StoredLimiter } from './limiter.js';
import type { LimiterTurn } from './limiter-turn.js';
import type { Fault, UnitsEvent } from './observer.js';
import type { LimitRequest } from './request.js';
import type { Rule } from './rule.js';
import type { Step } from './store.js';
import type { UpkeepClient } from './upkeep.js';

/** The cost of one limit, for its option `cost`; what `cost()` of a {@link Meter} returns. */
export interface MeteredCost<Raw = unknown, Usage = unknown> {
  /** The cost of the reservation. */
  (request: LimitRequest<Raw>): number | Promise<number>;
  readonly metered: MeterHooks<Raw, Usage>;
}

/** What a meter does for a limit. */
export interface MeterHooks<Raw = unknown, Usage = unknown> {
  /**
   * Checks the options of a limit in a guard.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID`
   */
  checkGuarded(options: { readonly key?: unknown; readonly refundIf?: unknown }): void;
  /**
   * Adds the debt to a rule.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID` if its algorithm can't have debt
   */
  makeRule(rule: Rule): Rule;
  /** Limits the reservation of a step, and adds what is owed beyond it. */
  complete(step: Step, request: LimitRequest<Raw>): Step;
  begin(turn: LimiterTurn<Raw>, admission: Admission, settling: Settling): void;
  readonly finish: NonNullable<StoredLimiter<Raw>['finish']>;
  /** {@link complete} without HTTP, also with the cost of the reservation. */
  reserve(step: Step, reservation: Reservation<Usage>): Step;
  /** Gives a limiter without HTTP its method `settle`. */
  extend(limiter: object, limit: SettledLimit, client: SettlingClient): void;
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

/** How a meter settles after the decision: in a guard. */
export interface Settling {
  readonly releases: {
    readonly client: UpkeepClient<Step>;
    giveBack(steps: readonly Step[]): Promise<void> | undefined;
  };
  readonly observers: {
    fault(fault: Fault): void;
    units(event: UnitsEvent): void;
  };
}

/** How a meter settles without HTTP. */
export interface SettlingClient {
  readonly store: UpkeepClient<Step>;
  readonly observers: Settling['observers'];
  known(value: boolean): Eventually<boolean>;
}

/** A limit without HTTP. */
export interface SettledLimit {
  readonly name: string;
  takeGrant(decision: Decision): Grant | undefined;
}
