/** What a step asks of one count. */

import type { Receipt } from './answer.js';

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

/** With a `leases` rule: the permit that a step is about. */
export interface Lease {
  /** Chosen by the holder, so that no two are the same: 96 random bits or more. */
  readonly id: string;
  /** Whether the holder is critical: counted but never refused. */
  readonly critical: boolean;
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
  /**
   * With a `leases` rule: the permit to take, to renew (`record`) or to give back (`put`). Without it a step only
   * looks.
   */
  readonly lease?: Lease;
}
