/** The interface of a store: what it is asked to do, and what it answers. */

import type { Clock } from '../base/clock.js';
import type { Answer } from './answer.js';
import type { ApplyOptions } from './apply-options.js';
import type { Ask } from './ask.js';
import type { Rule } from './rule.js';
import type { Values } from './values.js';

export type { ApplyOptions } from './apply-options.js';
export type { Claim, Lease, Op } from './ask.js';

/** What a store is to do to one key, under one rule. */
export interface Step extends Ask<Rule> {
  /**
   * False for a limiter in shadow: the step is charged if it passes and the group passes, but it never refuses the
   * group.
   */
  readonly binding: boolean;
  /** What to answer when the store cannot. Stores ignore it. */
  readonly onStoreError?: StoreErrorPolicy;
}

/** Let the request pass, refuse it, or let a count in this process decide under this rule. */
export type StoreErrorPolicy = 'allow' | 'deny' | Rule;

/**
 * Where counts live. `apply` is all or nothing over its steps: if one `take` with `binding` does not pass, no `take` is
 * charged. A `take` without `binding` is charged if it passes and every binding one does. Every step gets an answer
 * with exact numbers either way, in the order of the steps.
 *
 * Steps of one count (the same limiter, key and `countOf`) are counted together, see `uniqueGroup`.
 *
 * If the promise rejects, nobody knows whether the steps were charged.
 */
export interface Store {
  /** True if `apply` never returns a promise. */
  readonly sync: boolean;
  /** The clock that decides, if a test sets it. Remembered refusals then use it too. */
  readonly testClock?: Clock;
  /**
   * How long a refusal is remembered at most, in microseconds. Default a minute. Use less for a store that may refuse a
   * key because of units that others have taken and are about to give back.
   */
  readonly denialsLastUs?: number;
  /** The store's name in logs, such as `Redis at 10.0.0.7:6379`. It must have no password and no key in it. */
  readonly label?: string;
  /**
   * Names the part of the store that a step depends on, such as a shard: one part may fail while others work. Without
   * it, the store is one part.
   */
  domainOf?(step: Step): string;
  /**
   * Tells the store a rule of a limiter before the first step under it. The first rule is the declared one. A `reset`
   * then forgets the key in the counts of all of them; in a store without `register`, it forgets only the count of its
   * own rule. Must return at once and never throw.
   */
  register?(limiter: string, rule: Rule): void;
  /** Decides all steps as one group, and answers each, in their order. */
  apply(
    steps: readonly Step[],
    options?: ApplyOptions,
  ): readonly Answer[] | Promise<readonly Answer[]>;
  /** Keeps bytes beside the counts. Optional: without it, finished claims have no kept answers. */
  readonly values?: Values;
}

/** A store that answers at once. */
export interface SyncStore extends Store {
  readonly sync: true;
  /** As of any store, without a promise. */
  apply(steps: readonly Step[], options?: ApplyOptions): readonly Answer[];
}
