/** The seam between rules and the places where counts live. */

import type { Clock } from '../base/clock.js';
import type { Rule } from './rule.js';

/**
 * What a step does to one key.
 *
 * - `take`: charge the cost if it passes, else change nothing.
 * - `record`: charge it whether it passes or not, up to the brim; answer what `take` would have.
 * - `look`: change nothing; answer what `take` would have.
 * - `put`: give back what an earlier grant charged, as far as it still matters.
 * - `reset`: forget the key, in every count of its limiter that the store knows of: see {@link Store.register}.
 */
export type Op = 'take' | 'record' | 'look' | 'put' | 'reset';

/** What a `put` gives back: `atUs` names the grant in the terms of the rule's machine. */
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
  /** What the stand-in charged for the same grant; stores ignore it. See {@link AnswerBase.standIn}. */
  readonly standIn?: Receipt;
}

/** Under `leases`: which permit a step is about. */
export interface Lease {
  /** Chosen by the holder so that no two meet: 96 random bits or more. */
  readonly id: string;
  /** Whether its holder is counted but never refused. */
  readonly critical: boolean;
}

/** One question put to a store. */
export interface Step {
  readonly op: Op;
  /** Name of the limiter: with the key and `countOf` the step, it identifies the count. */
  readonly limiter: string;
  readonly key: string;
  readonly rule: Rule;
  /** Units: an integer from 0 to 2^53 - 1. */
  readonly cost: number;
  /** False for a shadow rule: it is charged when it passes and the group does, but never refuses the group. */
  readonly binding: boolean;
  /** With `put`: which grant to give back. */
  readonly receipt?: Receipt;
  /** Under `leases`: the permit to take, to renew (`record`) or to give back (`put`). Without it a step only looks. */
  readonly lease?: Lease;
  /** What answers when the store cannot; see the fallback decorator. Stores ignore it. */
  readonly onStoreError?: StoreErrorPolicy;
}

/** Let the request pass, refuse it, or let an in-process limiter with this rule decide. */
export type StoreErrorPolicy = 'allow' | 'deny' | Rule;

interface AnswerBase {
  /**
   * `take`, `record`, `look`: whether the cost passes under this step's own rule (the group may still be refused by
   * another). `put`: whether something was given back. `reset`: true.
   */
  readonly allowed: boolean;
  /** The store's clock at the decision, whole microseconds since the epoch. */
  readonly nowUs: number;
  /** True of a refusal that may be undone the next moment: it is not remembered. */
  readonly provisional?: boolean;
  /** Set if the store could not answer and its fallback did. */
  readonly failure?: Error;
  /** How to give back what the stand-in, the count of this process for when the store fails, charged for this grant. */
  readonly standIn?: Receipt;
}

/**
 * State of a bucket after the step: the instant at which it is full again, `tatUs + tatNum / den`; in the past if it is
 * full.
 */
export interface BucketAnswer extends AnswerBase {
  readonly tatUs: number;
  readonly tatNum: number;
}

/** State of a window counter after the step. `startUs` may lie ahead of `nowUs` if the clock went backwards. */
export interface WindowAnswer extends AnswerBase {
  readonly startUs: number;
  readonly current: number;
  /** Count of the window before; always 0 unless the rule is sliding. */
  readonly previous: number;
}

/** State of a log after the step. */
export interface LogAnswer extends AnswerBase {
  /** Units live now: admitted less than one window ago. */
  readonly used: number;
  /** Time of the entry whose expiry lets this step's cost pass; -1 if it passes now, or never can. */
  readonly freesUs: number;
  /** Time of the newest live entry, 0 if there is none. */
  readonly lastUs: number;
}

/** What is in progress after the step. */
export interface LeasesAnswer extends AnswerBase {
  /** Permits held now, of all holders. */
  readonly used: number;
  /** Of them, those of critical holders. */
  readonly critical: number;
}

export type Answer = BucketAnswer | WindowAnswer | LogAnswer | LeasesAnswer;

/** Limits on one call. */
export interface ApplyOptions {
  /**
   * The moment, on the process's own clock in microseconds ({@link systemClock}), after which nobody waits for the
   * answer: a store need not send the call any more.
   */
  readonly deadlineUs?: number | undefined;
  /**
   * True for a call that no request waits for, such as a renewal: `deadlineUs` alone is its deadline, and its failure
   * says nothing to the breaker.
   */
  readonly background?: boolean | undefined;
}

/**
 * Where counts live. `apply` is all-or-nothing over its steps: if any binding `take` does not pass, no `take` is
 * charged. A shadow `take` is charged if it passes and every binding one does. Every step is answered with exact
 * numbers either way, in the order asked. Steps of one count (limiter, key and `countOf`) count together, see
 * `uniqueGroup`.
 *
 * A rejected promise means that nothing is known: the steps may or may not have been charged.
 */
export interface Store {
  /** True if `apply` never returns a promise. */
  readonly sync: boolean;
  /** The clock by which it decides, where a test sets it; what is remembered of its answers goes by the same. */
  readonly testClock?: Clock;
  /**
   * How long a refusal is remembered at most without asking again, in microseconds. Default a minute. Shorter for a
   * store that may refuse a key because of what others have taken and are about to put back.
   */
  readonly refusalsLastUs?: number;
  /** What this store is called in logs, such as `Redis at 10.0.0.7:6379`: no password, no key. */
  readonly label?: string;
  /**
   * The part of the store that a step depends on, such as a shard: parts fail apart. Without it, all of the store is
   * one part.
   */
  domainOf?(step: Step): string;
  /**
   * Tells the store of a rule of a limiter before the first step under it; the first rule is the one that the limiter
   * was declared with. A `reset` then forgets the key in the counts of all of them. Returns at once, and never throws.
   * In a store without it, `reset` forgets the count of its own rule only.
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
