/** What the oracle asks of an algorithm: pure steps over states that never change. */

import type { Answer } from '@spillway/core';
import type { Lease, Receipt, Rule } from '@spillway/core/store';

/** The numbers of a decision in whole microseconds, undefined where nobody can know them. */
interface ExactNumbers {
  readonly remaining: bigint;
  /** Null where the cost can never pass. */
  readonly retryUs: bigint | null | undefined;
  readonly resetUs: bigint | undefined;
}

/** One algorithm, word for word as docs/algorithms.md defines it. A `view` is a state as the rule sees it at `now`. */
export interface Machine<R extends Rule, S> {
  /** Whether two rules of one limiter and key are counted together. */
  shares(a: R, b: R): boolean;
  /** The state brought to `now`: rolled, and cut if the rule cannot have it. Without a state: as never used. */
  view(rule: R, state: S | undefined, now: bigint): S;
  /** Whether `view` has to cut a state that the rule cannot have at `now`. */
  impossible(rule: R, state: S, now: bigint): boolean;
  /** The state without what no rule can have, where `view` leaves it in. */
  repaired?(rule: R, view: S, now: bigint): S;
  /** Whether a cost above 0 passes. */
  passes(rule: R, view: S, now: bigint, cost: bigint, lease?: Lease): boolean;
  /** The state after a grant of a cost that passes, or undefined if nothing changes. */
  charge(rule: R, view: S, now: bigint, cost: bigint, lease?: Lease): S | undefined;
  /** The state after a charge that may not pass: up to the brim; or undefined if nothing changes. */
  record(rule: R, view: S, now: bigint, cost: bigint, lease?: Lease): S | undefined;
  /** The state after a grant was given back, or undefined if nothing is. */
  put(
    rule: R,
    view: S,
    now: bigint,
    cost: bigint,
    receipt: Receipt | undefined,
    lease?: Lease,
  ): S | undefined;
  numbers(rule: R, view: S, now: bigint, cost: bigint, allowed: boolean): ExactNumbers;
  /** The view as a store would tell it. */
  answer(
    rule: R,
    view: S,
    nowUs: number,
    retryUs: bigint | null | undefined,
  ): Omit<Answer, 'allowed'>;
  /**
   * Whether part of the state no longer counts at `now` but would again if the clock went back to `earlier`. Stores may
   * forget such a part, or not have yet.
   */
  forgettable(rule: R, state: S, now: bigint, earlier: bigint): boolean;
}

/**
 * The least wait from 0 to `most` after which `passes` holds, given that it stays true once it is and holds at `most`.
 */
export function leastWait(most: bigint, passes: (waitUs: bigint) => boolean): bigint {
  let low = 0n;
  let high = most;
  while (low < high) {
    const middle = (low + high) / 2n;
    if (passes(middle)) high = middle;
    else low = middle + 1n;
  }
  return low;
}

export function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

export function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
