import type { Period } from './calendar.js';

/**
 * What a step does to one key.
 *
 * - `take`: charges the cost if the rule allows it. Otherwise charges nothing, but may start a lock (`lock` rule).
 * - `record`: charges the cost even if the rule doesn't allow it, up to the limit plus the debt of the rule (for a
 *   bucket, up to the burst plus the debt; for a queue, up to the longest wait). Renews a permit or claim; an expired
 *   one is taken again if `take` would pass. Charges nothing while a lock runs. Answers what `take` would answer.
 * - `look`: changes nothing. Answers what `take` would.
 * - `put`: gives back the part of an earlier charge that still counts; with a `queue` rule, only the latest charge.
 *   Releases a permit or a running claim.
 * - `hold`: with a `queue` rule, starts or extends a pause, during which no job starts. With a `lock` rule, starts or
 *   extends a lock. A `hold` never shortens a pause or a lock.
 * - `done`: only with a `claims` rule. Marks a claim as done and stores it with its note.
 * - `reset`: resets the key's counts under all rules of the limiter that the store knows (see {@link Store.register}).
 *   If the step has a claim, deletes only that claim, even if another client owns it. If not, claims stay, because a
 *   store can't list them.
 */
export type Op = 'take' | 'record' | 'look' | 'put' | 'hold' | 'done' | 'reset';

/** The permit of a step with a `leases` rule. */
export interface Lease {
  /** Chosen by the holder. Must be unique: 96 random bits or more. */
  readonly id: string;
  /** Whether the holder is critical. Critical holders are counted but never rejected. */
  readonly critical: boolean;
}

/** The claim of a step with a `claims` rule. */
export interface Claim {
  /**
   * The claimed id, such as the idempotency key that the client sent. Any text is valid. Two steps with a different
   * `key` have separate claims, even if the ids are equal.
   */
  readonly id: string;
  /**
   * Identifies the attempt that claims the id: 16 characters of `A-Z a-z 0-9 _ -`, from 96 random bits that are new for
   * each take. May be empty for `look` and `reset`.
   */
  readonly owner: string;
  /** For `done`: what to store with the claim, at most 256 printable ASCII characters. Default `''`. */
  readonly note?: string | undefined;
}

/** Ends of grants, costs and claims are useful even if late, so groups of only such steps have no deadline. */
export function isEnd({ op, rule }: Pick<Ask<{ readonly debt?: number }>, 'op' | 'rule'>): boolean {
  return op === 'put' || op === 'done' || (op === 'record' && rule.debt !== undefined);
}

export interface Ask<Rule> {
  readonly op: Op;
  /** Name of the limiter. The limiter, the key and `countOf` together identify the count. */
  readonly limiter: string;
  readonly key: string;
  readonly rule: Rule;
  /** The units, an integer from 0 to 2^53 - 1. */
  readonly cost: number;
  readonly binding?: boolean;
  /**
   * Further units to charge with the cost, an integer from 0. They never cause a rejection. Stores use them only for a
   * `take` or `record` with a cost above 0 and a rule with debt.
   */
  readonly owed?: number | undefined;
  /** For `put`: the grant to give back. */
  readonly receipt?: Receipt;
  /**
   * For `hold`: the length of the pause or lock from now, in whole microseconds; 0 has no effect. A pause lasts at most
   * 24 hours, a lock at most the longest lock of its rule.
   */
  readonly holdUs?: number;
  /**
   * For binding takes with a `queue` rule: if true, the jobs of all such takes of one key in a group start together, as
   * soon as the last of them can (rounded up to a microsecond). Each take is charged as if it came at that time.
   */
  readonly together?: boolean;
  /**
   * Set by the store, if a key has several `take` steps with {@link together}: the time when they all start, in
   * microseconds since the epoch. To calculate it, the store first judges these steps without charging.
   */
  readonly startUs?: number;
  /**
   * With a `leases` rule: the permit to take, to renew (`record`) or to release (`put`). Without it, the step only
   * looks; but a `reset` needs none.
   */
  readonly lease?: Lease;
  /**
   * With a `claims` rule: the claim to take, renew (`record`), mark as done, release (`put`), look at or delete
   * (`reset`). The cost of such a step must be 1, except for a `reset`.
   */
  readonly claim?: Claim;
  /** With a `calendar` rule for billing periods: the period of the request. */
  readonly period?: Period | undefined;
  /**
   * With a `distinct` rule: the distinct items of the request, each as the first 16 bytes of a SHA-256 in lower-case
   * hexadecimal. The cost must be the number of items. More than 100 items never pass.
   */
  readonly items?: readonly string[] | undefined;
}

/** Identifies a grant. A later `put` with this receipt gives the grant back. */
export interface Receipt {
  /**
   * What identifies the grant: an instant in the answer, called `R` in docs/algorithms.md. 0 for permits and claims,
   * because {@link Step.lease} and {@link Step.claim} identify their grants. -1 if the store failed and so charged
   * nothing.
   */
  readonly atUs: number;
  /**
   * For `bucket` and `queue`, the fraction of a microsecond that `atUs` omits (`tatNum` of the answer); otherwise
   * 0.
   */
  readonly num: number;
  /** The units charged. A `put` gives back at most this many. */
  readonly units: number;
  /** The fallback counters' receipt of the same grant: see {@link Answer}. Stores ignore it. */
  readonly fallbackReceipt?: Receipt;
}

/** What the answers of all algorithms have in common. */
export interface AnswerBase {
  /**
   * `take`, `record`, `look`: whether the cost passes under the rule of this step (another step may still reject the
   * group). `put`: whether anything was given back. `done`: whether the claim is now done under this owner. `hold`,
   * `reset`: true.
   */
  readonly allowed: boolean;
  /** The store's clock at the decision, whole microseconds since the epoch. */
  readonly nowUs: number;
  /**
   * For a `take` or `record`, the units that were not charged, because they go beyond the limit plus the debt that the
   * rule allows. Rounded up. Omitted if all were charged or the rule has no debt.
   */
  readonly forgiven?: number | undefined;
  /** If true, a rejection may turn into a grant at any moment, so it is not cached. */
  readonly provisional?: boolean;
  /** The error of the store, if it could not answer. The answer then follows `onStoreError`. */
  readonly failure?: Error;
  /**
   * The receipt of the fallback counters for this grant. These counters also count grants of the store, in case the
   * store fails later.
   */
  readonly fallbackReceipt?: Receipt;
}
