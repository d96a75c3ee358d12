/** What the calls and replies of the script must know of an algorithm. */

import type { Answer, Step } from '@spillway/core';
import { givenBack, type Op, type Rule } from '@spillway/core/store';

/**
 * The operations as shared.lua numbers them. `together`: a `take` that starts with others of its group. `shadow`: a
 * `take` with `binding: false`. `noPut`: a `put` that gives nothing back. It is answered as a look is, but never too
 * late, as no `put` is.
 */
export const OPS: Readonly<Record<Op | 'together' | 'shadow' | 'noPut', number>> = {
  together: 0,
  take: 1,
  shadow: 2,
  record: 3,
  look: 4,
  put: 5,
  reset: 6,
  hold: 7,
  done: 8,
  noPut: 9,
};

/** How the steps of one algorithm are written into a call, how their answers are read, and the Lua between. */
export interface Codec<R extends Rule = Rule> {
  /** Stands for the algorithm in a call. takes.lua knows the bucket's. */
  readonly letter: string;
  /** Its Lua, in the order in which the script needs it. */
  readonly lua: readonly string[];
  /** The function in it that makes what reads a step from the arguments. */
  readonly maker: string;
  /**
   * The id that a step names, where steps name one: ids are sent for every group, as they differ where all else is the
   * same.
   */
  idOf?(step: Step): string;
  /** Appends the numbers of a step, in the order in which its Lua reads them. `op` is one of {@link OPS}. */
  encode(rule: R, step: Step, op: number, args: string[]): void;
  /** Reads the rest of an answer. `state` is its first number, without the verdict. */
  read(rule: R, allowed: boolean, state: number, reply: ReplyWords): Answer;
}

/** The words of a reply that follow the first number of an answer. */
export interface ReplyWords {
  /** The server's clock. */
  readonly nowUs: number;
  /**
   * The next integer.
   *
   * @throws SpillwayError `SPW_STORE_ERROR` if there is none
   */
  number(): number;
  /**
   * The next integer, which is not negative.
   *
   * @throws SpillwayError `SPW_STORE_ERROR` if there is none
   */
  count(): number;
  /**
   * The parts of the next word, which is a text of this form.
   *
   * @throws SpillwayError `SPW_STORE_ERROR` if it is not
   */
  text(form: RegExp): readonly string[];
}

/** The units that a step takes or gives back. A `put` gives back no more than was granted. */
export function unitsOf({ op, cost, receipt, lease, claim }: Step): number {
  if (op !== 'put' || lease || claim) return cost;
  return receipt ? givenBack(cost, receipt) : 0;
}

/** A cost that can never pass is sent as the limit + 1, so that no larger number is needed. */
export function costWithin(limit: number, cost: number): number {
  return Math.min(cost, limit + 1);
}
