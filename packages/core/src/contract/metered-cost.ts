/** A cost that is known afterwards, as a limiter uses it. The value brings all code, so other limiters have none of it. */

import type { Admission } from './admission.js';
import type { StoredLimiter } from './limiter.js';
import type { LimiterTurn } from './limiter-turn.js';
import type { Fault, UnitsEvent } from './observer.js';
import type { LimitRequest } from './request.js';
import type { Rule } from './rule.js';
import type { Step } from './store.js';
import type { UpkeepClient } from './upkeep.js';

/** What `cost` of a {@link Meter} returns, for the option `cost` of one limit: the cost of the reservation. */
export interface MeteredCost<Raw = unknown> {
  (request: LimitRequest<Raw>): number | Promise<number>;
  readonly metered: MeterHooks<Raw>;
}

/** What a meter does for a limit. */
export interface MeterHooks<Raw = unknown> {
  /**
   * Checks the options of a limit in a guard.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID`
   */
  checkGuarded(options: { readonly key?: unknown; readonly refundIf?: unknown }): void;
  /**
   * Adds the debt to a rule.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID` if the algorithm cannot have debt
   */
  makeRule(rule: Rule): Rule;
  /** Limits the reservation of a step, and adds what is owed beyond it. */
  complete(step: Step, request: LimitRequest<Raw>): Step;
  begin(turn: LimiterTurn<Raw>, admission: Admission, settling: Settling): void;
  readonly finish: NonNullable<StoredLimiter<Raw>['finish']>;
}

/** How a meter settles after the decision. */
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
