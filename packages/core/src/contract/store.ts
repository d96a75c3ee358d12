/** The interface of a store: what it is asked to do, and what it answers. */

import type { Clock } from '../base/clock.js';
import type { Rule } from './rule.js';

/**
 * What a step does to one key.
 *
 * - `take`: charges the cost if it passes, else changes nothing.
 * - `record`: charges the cost even if it does not pass, but at most what the limit holds. Answers what `take` would.
 * - `look`: changes nothing. Answers what `take` would.
 * - `put`: gives back what an earlier grant charged, as far as it still counts.
 * - `reset`: forgets the key in every count of its limiter that the store knows of: see {@link Store.register}.
 */
export type Op = 'take' | 'record' | 'look' | 'put' | 'reset';

/** What a `put` gives back. `atUs` names the grant, in a way that depends on the rule's algorithm. */
export interface Receipt {
  /**
   * - `bucket`: whole microseconds of the bucket's state right after the grant ({@link BucketAnswer.tatUs});
   * - `window`: start of the window that was charged ({@link WindowAnswer.startUs});
   * - `log`: time of the entry that was added ({@link LogAnswer.lastUs});
   * - `leases`: 0, for a permit is named by {@link Step.lease}.
   */
  readonly atUs: number;
  /** `bucket`: the fraction of that state ({@link BucketAnswer.tatNum}); else 0. */
  readonly num: number;
  /** The cost that was granted. A `put` gives back at most so many units, and may give back fewer. */
  readonly units: number;
  /** What the stand-in charged for the same grant. Stores ignore it. See {@link AnswerBase.standIn}. */
  readonly standIn?: Receipt;
}

/** With a `leases` rule: the permit that a step is about. */
export interface Lease {
  /** Chosen by the holder, so that no two are the same: 96 random bits or more. */
  readonly id: string;
  /** Whether the holder is critical: counted but never refused. */
  readonly critical: boolean;
}

/** What a store is to do to one key, under one rule. */
export interface Step {
  readonly op: Op;
  /** Name of the limiter. Limiter, key and `countOf` the step identify the count. */
  readonly limiter: string;
  readonly key: string;
  readonly rule: Rule;
  /** Units: an integer from 0 to 2^53 - 1. */
  readonly cost: number;
  /**
   * False for a limiter in shadow: the step is charged if it passes and the group passes, but it never refuses the
   * group.
   */
  readonly binding: boolean;
  /**
   * Of several branches of a group, only one is charged: 1, 2, ... in order of preference. For `take` only; steps
   * without it are common to all branches. See {@link Store}.
   */
  readonly branch?: number;
  /** For `put`: the grant to give back. */
  readonly receipt?: Receipt;
  /**
   * With a `leases` rule: the permit to take, to renew (`record`) or to give back (`put`). Without it a step only
   * looks.
   */
  readonly lease?: Lease;
  /** What to answer when the store cannot; see `withFallback`. Stores ignore it. */
  readonly onStoreError?: StoreErrorPolicy;
}

/** Let the request pass, refuse it, or let a count in this process decide under this rule. */
export type StoreErrorPolicy = 'allow' | 'deny' | Rule;

interface AnswerBase {
  /**
   * `take`, `record`, `look`: whether the cost passes under this step's own rule (another step may still refuse the
   * group). `put`: whether something was given back. `reset`: true.
   */
  readonly allowed: boolean;
  /** The store's clock at the decision, whole microseconds since the epoch. */
  readonly nowUs: number;
  /** In a group with branches: the branch that was charged; 0 if none was. The same in every answer of the group. */
  readonly branch?: number;
  /** True if a refusal may become a grant at any moment. Such a refusal is not remembered. */
  readonly provisional?: boolean;
  /** Set if the store could not answer. The fallback has answered. */
  readonly failure?: Error;
  /**
   * Receipt of what the stand-in charged for this grant. The stand-in is the count of this process for when the store
   * fails.
   */
  readonly standIn?: Receipt;
}

/**
 * State of a bucket after the step: the instant at which it is full again is `tatUs + tatNum / den`. If that is in the
 * past, the bucket is full.
 */
export interface BucketAnswer extends AnswerBase {
  readonly tatUs: number;
  readonly tatNum: number;
}

/** State of a window counter after the step. `startUs` may be after `nowUs` if the clock went back. */
export interface WindowAnswer extends AnswerBase {
  readonly startUs: number;
  readonly current: number;
  /** Count of the previous window; always 0 unless the rule is sliding. */
  readonly previous: number;
}

/** State of a log after the step. */
export interface LogAnswer extends AnswerBase {
  /** Units that count now: admitted less than one window ago. */
  readonly used: number;
  /** Time of the entry that must expire before this step's cost passes; -1 if it passes now, or never can. */
  readonly freesUs: number;
  /** Time of the newest entry that counts, 0 if there is none. */
  readonly lastUs: number;
}

/** The permits after the step. */
export interface LeasesAnswer extends AnswerBase {
  /** Permits held now, by all holders. */
  readonly used: number;
  /** How many of them critical holders hold. */
  readonly critical: number;
}

export type Answer = BucketAnswer | WindowAnswer | LogAnswer | LeasesAnswer;

/** Limits on one call. */
export interface ApplyOptions {
  /**
   * After this instant nobody waits for the answer, and a store need not send the call. In microseconds, by the
   * process's own clock ({@link systemClock}).
   */
  readonly deadlineUs?: number | undefined;
  /**
   * True for a call that no request waits for, such as a renewal. Its deadline is `deadlineUs` alone, and the breaker
   * ignores its failure.
   */
  readonly background?: boolean | undefined;
}

/**
 * Where counts live. `apply` is all or nothing over its steps: if one `take` with `binding` does not pass, no `take` is
 * charged. A `take` without `binding` is charged if it passes and every binding one does. Every step gets an answer
 * with exact numbers either way, in the order of the steps.
 *
 * If some steps have a `branch`, the group passes if every binding `take` without a branch passes, and every binding
 * `take` of at least one branch. The first such branch is charged, and no other. A branch without a binding `take`
 * passes.
 *
 * Steps of one count (the same limiter, key and `countOf`)
 * are counted together, see `uniqueGroup`.
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
  readonly refusalsLastUs?: number;
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
  apply(
    steps: readonly Step[],
    options?: ApplyOptions,
  ): readonly Answer[] | Promise<readonly Answer[]>;
}

/** A store that answers at once. */
export interface SyncStore extends Store {
  readonly sync: true;
  apply(steps: readonly Step[], options?: ApplyOptions): readonly Answer[];
}
