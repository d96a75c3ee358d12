import type { Ask } from './ask.js';
import type { Answer } from './rule.js';

export interface ShelfStep<Rule, Count = unknown> {
  readonly ask: Ask<Rule>;
  readonly nowUs: number;
  /** If false, a `take` charges nothing and answers whether it would pass. */
  readonly charge: boolean;
  /**
   * False if the count is shared, or if the store is full and the shelf {@link Shelf.grows}. The step must then not
   * enlarge the count, unless it is a shared count of distinct items. A log adds new units to its newest entry, and the
   * older units of that entry may then expire too late.
   */
  readonly mayGrow: boolean;
  /** What {@link Shelf.find} returned for this `ask` immediately before the step. */
  readonly count?: Count | undefined;
  /**
   * The key's count on the store's other shelf. If the step creates a count, that count starts as a copy of this one,
   * but without its permits. A step on a shared count always has this property, even with the value undefined.
   */
  readonly other?: Count | undefined;
}

/**
 * The counts of one algorithm, by limiter, `rule.code` and key. A memory store has up to two shelves for each
 * algorithm: one for counts of single keys and, once the store is full, one for counts that several keys share. `Count`
 * is opaque to the store.
 */
export interface Shelf<Rule, Count = unknown> {
  readonly size: number;
  /** Whether the store must prevent steps on an existing count from adding entries while it is full. */
  readonly grows: boolean;
  /**
   * True if keys can't share a count. If the store has no room for a new count, it answers the step with a `failure`.
   */
  readonly alone?: boolean;
  /** The count of `ask`, if it is stored. Valid until the next call of any method except {@link step}. */
  find(ask: Ask<Rule>, nowUs: number): Count | undefined;
  /**
   * Does the work of {@link find} and {@link step} in one call, which is faster. Returns undefined if no count is
   * stored. A shelf with {@link holds} doesn't have this method, because the permit of the step may be on the store's
   * other shelf.
   */
  stepStored?(ask: Ask<Rule>, nowUs: number, charge: boolean): Answer | undefined;
  /** Whether `count` holds the permit of `ask`. Only algorithms with permits have this method. */
  holds?(count: Count, ask: Ask<Rule>): boolean;
  step(step: ShelfStep<Rule, Count>): Answer;
  expiresAtUs(rule: Rule, answer: Answer): number;
  reclaim(nowUs: number): void;
}
