/** Where a store in memory keeps the counts of one algorithm. */

import type { Answer, Ask } from './ask.js';

/** One step on a shelf. */
export interface ShelfStep<Rule, Count = unknown> {
  readonly ask: Ask<Rule>;
  readonly nowUs: number;
  /** False: a `take` only says whether it would pass. */
  readonly charge: boolean;
  /** False: new units join an entry that exists, and so may count longer than they should. */
  readonly mayGrow: boolean;
  /** What {@link Shelf.find} has just returned for this `ask`. */
  readonly count?: Count | undefined;
  /**
   * The count of the same key on another shelf of the store. Without a count of its own, a key begins with its state;
   * where steps name what they give back, it counts besides.
   */
  readonly other?: Count | undefined;
}

/**
 * The counts of one algorithm, by limiter, code and key. A store in memory has two shelves for each algorithm that it
 * is asked about: one for counts of a single key, and, once it is full, one for counts that keys share. `Count` is what
 * is kept for a key; the store hands it on and does not read it.
 */
export interface Shelf<Rule, Count = unknown> {
  /** Entries held, by which the size of the store is limited. */
  readonly size: number;
  /** Whether a step may add entries to a count that exists already. */
  readonly grows: boolean;
  /** True where keys cannot share a count: a key for which there is no room is then answered with a `failure`. */
  readonly alone?: boolean;
  /** The count that `ask` is about, if one is kept. Valid until the next call of another method than {@link step}. */
  find(ask: Ask<Rule>, nowUs: number): Count | undefined;
  /**
   * {@link find} and {@link step} in one call, which is faster; undefined if no count is kept. Left out where the count
   * that is kept is not all: see {@link holds}.
   */
  stepKept?(ask: Ask<Rule>, nowUs: number, charge: boolean): Answer | undefined;
  /** Where steps name what they give back: whether `count` has what `ask` names. */
  holds?(count: Count, ask: Ask<Rule>): boolean;
  /** Does what is asked, and keeps what that changes. */
  step(step: ShelfStep<Rule, Count>): Answer;
  /** The instant from which the count that answered is the same as an unused one, if nobody else comes. */
  restsAt(rule: Rule, answer: Answer): number;
  /** Looks at the next few counts, and drops those that are the same as an unused one. */
  reclaim(nowUs: number): void;
}
