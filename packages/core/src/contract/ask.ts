/** What a step asks of one count. */

import type { Receipt } from './answer.js';

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
