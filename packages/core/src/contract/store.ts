/** The interface of a store: steps on counts, and bytes that are kept beside the counts. */

import type { Clock } from '../base/clock.js';
import { encodeText } from '../base/encode-name.js';
import { SpillwayError, show } from '../base/errors.js';
import type { Answer, Ask } from './ask.js';
import type { Rule } from './rule.js';

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
  readonly values?: Values | undefined;
}

/** A store that answers at once. */
export interface SyncStore extends Store {
  readonly sync: true;
  /** As of any store, without a promise. */
  apply(steps: readonly Step[], options?: ApplyOptions): readonly Answer[];
}

/** Limits on one call. */
export interface ApplyOptions {
  /**
   * After this instant nobody waits for the answer, and a store need not send the call. In microseconds, by the
   * process's own clock (`systemClock`).
   */
  readonly deadlineUs?: number | undefined;
  /**
   * True for a call that no request waits for, such as a renewal. Its deadline is `deadlineUs` alone, and the breaker
   * ignores its failure.
   */
  readonly background?: boolean | undefined;
}

/** What names a value. Limiter and key are those of the claim that it belongs to. */
export interface ValueName {
  readonly limiter: string;
  readonly key: string;
  /** Contains the owner of the claim: who has lost a claim cannot overwrite what its next owner keeps. Any text. */
  readonly id: string;
}

/**
 * Keeps bytes for a time. They may be gone earlier, where a store has no room: who reads a value must be able to do
 * without it. A store on a server rejects as its `apply` does.
 */
export interface Values {
  /**
   * Keeps a copy of `bytes` for `ttlUs` microseconds (1 to 400 days) or up to a second longer, in place of what was
   * kept under this name.
   *
   * @throws SpillwayError `SPW_VALUE_INVALID` for more than 1 MiB, or a time that is none
   */
  set(
    name: ValueName,
    bytes: Uint8Array,
    ttlUs: number,
    options?: ApplyOptions,
  ): void | Promise<void>;
  /** What is kept under this name; undefined if nothing is. The bytes are the caller's own. */
  get(
    name: ValueName,
    options?: ApplyOptions,
  ): Uint8Array | undefined | Promise<Uint8Array | undefined>;
}

/** Values of a store that answers at once. */
export interface SyncValues extends Values {
  set(name: ValueName, bytes: Uint8Array, ttlUs: number, options?: ApplyOptions): void;
  get(name: ValueName, options?: ApplyOptions): Uint8Array | undefined;
}

/** The most bytes of one value: 1 MiB. */
export const MAX_VALUE_BYTES = 1_048_576;

const MAX_TTL_US = 400 * 86_400_000_000;

/** The code of a value's name, as a store that keeps it by a name gives it to `encodeName`. */
export function valueCode(id: string): string {
  return `v:${encodeText(id)}`;
}

/**
 * What every store checks before it keeps a value.
 *
 * @throws SpillwayError `SPW_VALUE_INVALID`
 * @example
 * ```ts run
 * import { checkValue } from '@spillway/core/store';
 *
 * checkValue(new Uint8Array(1_000), 60_000_000);
 * ```
 */
export function checkValue(bytes: Uint8Array, ttlUs: number): void {
  if (!(bytes instanceof Uint8Array)) throw invalid('a Uint8Array', show(bytes));
  if (bytes.length > MAX_VALUE_BYTES) {
    throw invalid(`at most ${MAX_VALUE_BYTES} bytes`, `${bytes.length}`);
  }
  if (Number.isSafeInteger(ttlUs) && ttlUs >= 1 && ttlUs <= MAX_TTL_US) return;
  throw invalid('kept for 1 microsecond to 400 days, in whole microseconds', show(ttlUs));
}

function invalid(what: string, got: string): SpillwayError {
  return new SpillwayError('SPW_VALUE_INVALID', `a value must be ${what}, got ${got}`);
}
