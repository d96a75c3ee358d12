/** What a step asks of one count, and what a store answers. */

/**
 * What a step does to one key.
 *
 * - `take`: charges the cost if it passes, else changes nothing.
 * - `record`: charges the cost even if it does not pass, but at most what the limit holds. Answers what `take` would.
 * - `look`: changes nothing. Answers what `take` would.
 * - `put`: gives back what an earlier grant charged, as far as it still counts.
 * - `hold`: with a `queue` rule only. Begins a pause in which nothing starts, or lengthens it; never shortens it.
 * - `done`: with a `claims` rule only. Marks a claim as done, and keeps it with its note.
 * - `reset`: forgets the key in every count of its limiter that the store knows of: see {@link Store.register}. With a
 *   claim it drops that claim alone, whoever has it; without one it drops no claim, for a store cannot list them.
 */
export type Op = 'take' | 'record' | 'look' | 'put' | 'hold' | 'done' | 'reset';

/** With a `leases` rule: the permit that a step is about. */
export interface Lease {
  /** Chosen by the holder, so that no two are the same: 96 random bits or more. */
  readonly id: string;
  /** Whether the holder is critical: counted but never refused. */
  readonly critical: boolean;
}

/** With a `claims` rule: what a step claims, and for whom. */
export interface Claim {
  /** What is claimed, of the key: an idempotency key, as the caller has sent it. Any text. */
  readonly id: string;
  /**
   * Who claims it: 16 of `A-Z a-z 0-9 _ -`, made of 96 random bits for each take, so that no two are the same. `look`
   * and `reset` may have an empty one.
   */
  readonly owner: string;
  /** With `done`: what to keep with the claim, at most 256 printable ASCII characters. Default `''`. */
  readonly note?: string | undefined;
}

/**
 * Whether a step ends something: it gives back a grant, or marks a claim as done. It is welcome at any time, so a group
 * of only such steps has no deadline.
 */
export function isEnd({ op }: { readonly op: Op }): boolean {
  return op === 'put' || op === 'done';
}

/** What to do to one key, under one rule. */
export interface Ask<Rule> {
  readonly op: Op;
  /** Name of the limiter. Limiter, key and `countOf` the step identify the count. */
  readonly limiter: string;
  readonly key: string;
  readonly rule: Rule;
  /** Units: an integer from 0 to 2^53 - 1. */
  readonly cost: number;
  /** For `put`: the grant to give back. */
  readonly receipt?: Receipt;
  /** For `hold`: how long the pause lasts from now, in whole microseconds; at most 24 hours, 0 for none. */
  readonly holdUs?: number;
  /**
   * With a `leases` rule: the permit to take, to renew (`record`) or to give back (`put`). Without it a step only
   * looks.
   */
  readonly lease?: Lease;
  /**
   * With a `claims` rule: the claim to take, to renew (`record`), to mark as done, to give up (`put`), to look at or to
   * drop (`reset`). The cost of such a step is 1.
   */
  readonly claim?: Claim;
}

/** What a `put` gives back. `atUs` names the grant, in a way that depends on the rule's algorithm. */
export interface Receipt {
  /**
   * - `bucket`, `queue`: whole microseconds of the bucket's state right after the grant ({@link BucketAnswer.tatUs});
   * - `window`: start of the window that was charged ({@link WindowAnswer.startUs});
   * - `log`: time of the entry that was added ({@link LogAnswer.lastUs});
   * - `leases`, `claims`: 0, for a permit is named by {@link Step.lease}, a claim by {@link Step.claim}.
   */
  readonly atUs: number;
  /** `bucket`, `queue`: the fraction of that state ({@link BucketAnswer.tatNum}); else 0. */
  readonly num: number;
  /** The cost that was granted. A `put` gives back at most so many units, and may give back fewer. */
  readonly units: number;
  /** What the fallback counters charged for the same grant. Stores ignore it. See {@link AnswerBase.standIn}. */
  readonly standIn?: Receipt;
}

interface AnswerBase {
  /**
   * `take`, `record`, `look`: whether the cost passes under this step's own rule (another step may still refuse the
   * group). `put`: whether something was given back. `done`: whether the claim is marked as done. `reset`: true.
   */
  readonly allowed: boolean;
  /** The store's clock at the decision, whole microseconds since the epoch. */
  readonly nowUs: number;
  /** True if a refusal may become a grant at any moment. Such a refusal is not remembered. */
  readonly provisional?: boolean;
  /** Set if the store could not answer. The fallback has answered. */
  readonly failure?: Error;
  /**
   * Receipt of what the fallback counters charged for this grant. This process counts with them when the store fails.
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

/**
 * State of a bucket that waits, after the step. It stands at most the tolerance ahead of now, or further if the unit
 * that was taken last is still waited for.
 */
export interface QueueAnswer extends BucketAnswer {
  /** The end of a pause, in microseconds since the epoch; 0 if there is none now. */
  readonly pausedUntilUs: number;
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

/** The claim after the step. */
export interface ClaimsAnswer extends AnswerBase {
  /** `running`: somebody works on it, under a lease. `done`: that work was finished. */
  readonly state: 'free' | 'running' | 'done';
  /** Who runs it, or has done it; `''` if it is free. */
  readonly owner: string;
  /** The end of the lease, or of keeping, in microseconds since the epoch; 0 if it is free. */
  readonly endsUs: number;
  /** What `done` has kept; `''` unless it is done. */
  readonly note: string;
}

/** What a store answers to a step: the numbers of the step's algorithm. */
export type Answer =
  | BucketAnswer
  | QueueAnswer
  | WindowAnswer
  | LogAnswer
  | LeasesAnswer
  | ClaimsAnswer;
