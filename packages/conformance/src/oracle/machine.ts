import type { Answer, Step } from '@spillway/core';
import type { Receipt, Rule } from '@spillway/core/store';

export type Named = Pick<Step, 'lease' | 'claim'>;

/** The numbers of a decision. Times are in whole microseconds, and undefined if they can't be known. */
interface ExactNumbers {
  readonly used: bigint;
  readonly remaining: bigint;
  /** How long to wait until the cost can pass; null if it never can. */
  readonly retryUs: bigint | null | undefined;
  readonly resetUs: bigint | undefined;
  /** How long the last charged unit must wait. Only for shapers. */
  readonly delayUs?: bigint;
}

/** One algorithm, exactly as docs/algorithms.md defines it. A `view` is the state as the rule sees it at `now`. */
export interface Machine<R extends Rule, S> {
  shareCount(a: R, b: R): boolean;
  /**
   * The view of a state. Expired parts are removed, or are ignored by the other functions. An `impossible` state is cut
   * to what the rule allows, except by algorithms with `repaired`. If `state` is undefined, the view of an unused key.
   */
  view(rule: R, state: S | undefined, now: bigint): S;
  /** Whether the state exceeds what the rule allows at `now`; for permits and claims, what any rule allows. */
  impossible(rule: R, state: S, now: bigint): boolean;
  /** What to store in place of an `impossible` state. If an algorithm lacks this function, the `view` is stored. */
  repaired?(rule: R, view: S, now: bigint): S;
  passes(rule: R, view: S, now: bigint, cost: bigint, named?: Named): boolean;
  /** When a take of this cost could start, in whole microseconds; undefined if never. Only for shapers. */
  start?(rule: R, view: S, now: bigint, cost: bigint): bigint | undefined;
  /**
   * The view for a take that must not start before `start`, because it starts together with others. Only for shapers.
   */
  from?(rule: R, view: S, start: bigint): S;
  /** The state after a grant of a cost that passes; undefined if nothing changes. */
  charge(rule: R, view: S, now: bigint, cost: bigint, named: Named): S | undefined;
  /**
   * The state after a `record`: a charge without a check, or the renewal of a permit or claim. Undefined if nothing
   * changes. Units beyond what the rule can hold are dropped.
   */
  record(rule: R, view: S, now: bigint, cost: bigint, named: Named): S | undefined;
  /**
   * How many of the charged `units` were dropped, because the debt was used up; rounded up. Only for rules that can
   * have debt.
   */
  forgiven?(rule: R, view: S, after: S, now: bigint, units: bigint): bigint;
  /** The state after a refund; undefined if nothing was refunded. */
  put(
    rule: R,
    view: S,
    now: bigint,
    cost: bigint,
    receipt: Receipt | undefined,
    named: Named,
  ): S | undefined;
  /**
   * The state after a binding take of a cost above 0 is rejected; undefined if nothing changes. Only for limits with a
   * penalty.
   */
  reject?(rule: R, view: S, now: bigint, cost: bigint): S | undefined;
  /** The state after a `hold`; undefined if nothing changes. Only for shapers and limits with a penalty. */
  hold?(rule: R, view: S, now: bigint, holdUs: bigint): S | undefined;
  /** The state after a `done`: the view itself if the claim was already done, undefined if `done` is not allowed. */
  done?(rule: R, view: S, now: bigint, named: Named): S | undefined;
  numbers(rule: R, view: S, now: bigint, cost: bigint, allowed: boolean): ExactNumbers;
  answer(
    rule: R,
    view: S,
    nowUs: number,
    retryUs: bigint | null | undefined,
  ): Omit<Answer, 'allowed'>;
  /**
   * Whether a part of the state no longer counts at `now`, but would count again if the clock went back to `earlier`. A
   * store may drop or keep this part.
   */
  forgettable(rule: R, state: S, now: bigint, earlier: bigint): boolean;
}

/**
 * The least wait from 0 to `most` after which `passes` is true. `passes` must be monotonic, and true at `most`.
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
