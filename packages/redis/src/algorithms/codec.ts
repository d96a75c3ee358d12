import type { Answer, Clock, Step } from '@spillway/core';
import { givenBack, type Op, type Rule } from '@spillway/core/store';

/**
 * The numbers of the operations, as in shared.lua. `together` is a `take` that must start at the same time as other
 * takes of its group. `shadow` is a `take` with `binding: false`, and `noPut` is a `put` that refunds nothing.
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

export interface Codec<R extends Rule = Rule> {
  /** Identifies the algorithm in a call. The letters of the bucket and the queue are also written in takes.lua. */
  readonly letter: string;
  /** The letter for rules with debt, if a step of such a rule is encoded with more numbers than other steps. */
  readonly debtLetter?: string;
  /** The Lua code of the algorithm, in the order in which it must run. */
  readonly lua: readonly string[];
  /** The name of a Lua function. It returns the function that reads the arguments of a step. */
  readonly maker: string;
  /**
   * The id in a step, for algorithms whose steps have one. Groups with equal steps are encoded once, but each is sent
   * with its own ids.
   */
  idOf?(step: Step): string;
  /** Whether the encoded numbers of a step depend on the current time. */
  readonly isTimed?: true;
  /**
   * Appends the numbers of a step, in the order in which the Lua code reads them.
   *
   * @param op one of {@link OPS}
   * @param clock an estimate of the server's clock
   */
  encode(rule: R, step: Step, op: number, args: string[], clock: Clock): void;
  /** Reads the answer to a step. The caller has already read its first number, which encodes `allowed` and `state`. */
  decodeAnswer(rule: R, allowed: boolean, state: number, reply: ReplyWords, step: Step): Answer;
}

export type CodecOf<Machine extends Rule['machine']> = Codec<
  Extract<Rule, { readonly machine: Machine }>
>;

export interface ReplyWords {
  readonly nowUs: number;
  number(): number;
  /** Reads the next word, which must be a non-negative integer. */
  count(): number;
  text(form: RegExp): readonly string[];
}

/** The units that a step takes or refunds. A `put` refunds at most what was granted. */
export function unitsOf({ op, cost, receipt, lease, claim }: Step): number {
  if (op !== 'put' || lease || claim) return cost;
  return receipt ? givenBack(cost, receipt) : 0;
}

/** Limits a cost to limit + 1, which keeps numbers small. No cost above the limit can pass. */
export function costWithin(limit: number, cost: number): number {
  return Math.min(cost, limit + 1);
}
