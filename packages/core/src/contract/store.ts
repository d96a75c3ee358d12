import type { Clock } from '../base/clock.js';
import { LONGEST_US } from '../base/duration.js';
import { encodeText } from '../base/encode-name.js';
import { SpillwayError, show } from '../base/errors.js';
import type { Ask } from './ask.js';
import type { Answer, Rule } from './rule.js';

export type { Claim, Lease, Op } from './ask.js';

/** An operation on one key under one rule, as part of a group. */
export interface Step extends Ask<Rule> {
  /**
   * False if the step must never reject the group, as for a limiter in shadow mode. It is then charged if both the step
   * and the group pass.
   */
  readonly binding: boolean;
  /** How to answer the step if the store can't. Stores ignore it. */
  readonly onStoreError?: StoreErrorPolicy;
  /** Called with the answer, for a step that settles a cost. Stores ignore it. */
  readonly answered?: ((answer: Answer) => void) | undefined;
}

/**
 * What to do with a step that the store can't answer: let the request pass (`allow`), reject it (`deny`), or decide by
 * a fallback counter with the given rule.
 */
export type StoreErrorPolicy = 'allow' | 'deny' | Rule;

/**
 * Where counts live. `apply` is all or nothing over its steps:
 *
 * - If one `take` with `binding` doesn't pass, no `take` is charged.
 * - A `take` without `binding` is charged if it passes and every binding `take` passes.
 * - Every step gets an answer with exact numbers either way, in the order of the steps.
 *
 * Steps on one count (the same limiter, key and `countOf`) are counted together, see `uniqueGroup`.
 *
 * If the promise rejects, it is unknown whether the steps were charged.
 */
export interface Store {
  /** True if `apply` never returns a promise. */
  readonly sync: boolean;
  /** The clock by which the store decides, if a test sets it. The denial cache then uses it too. */
  readonly testClock?: Clock;
  /**
   * The longest time that a rejection is cached, in microseconds. Default: one minute. Use less if the store may
   * briefly charge a group that it then rejects. Other groups may be rejected because of that charge, and such
   * rejections should not be cached for long.
   */
  readonly denialsLastUs?: number;
  /** The store's name in logs, such as `Redis at 10.0.0.7:6379`. Must not contain a password or a key. */
  readonly label?: string;
  /**
   * The name of the part of the store that a step depends on, such as a shard. Parts can fail independently. Without
   * this method, the store is one part.
   */
  domainOf?(step: Step): string;
  /**
   * Called with each rule of a limiter before the first step under that rule; the declared rule comes first. If a store
   * has this method, a `reset` of a key resets its counts under all these rules. If not, it resets only the count under
   * the step's rule. Must return at once and never throw.
   */
  register?(limiter: string, rule: Rule): void;
  apply(
    steps: readonly Step[],
    options?: ApplyOptions,
  ): readonly Answer[] | Promise<readonly Answer[]>;
  /** Stores bytes beside the counts. Required only for `idempotency()`, which stores responses. */
  readonly values?: Values | undefined;
}

/** A store that answers without a promise. */
export interface SyncStore extends Store {
  readonly sync: true;
  apply(steps: readonly Step[], options?: ApplyOptions): readonly Answer[];
}

/** Limits on one call. */
export interface ApplyOptions {
  /**
   * No caller waits for the answer after this instant, so the store need not send the call later. In microseconds, by
   * the clock of the process (`systemClock`).
   */
  readonly deadlineUs?: number | undefined;
  /**
   * True for a call that no request waits for, such as a renewal. Its only deadline is `deadlineUs`, and the breaker
   * ignores its failure.
   */
  readonly background?: boolean | undefined;
}

/** The name of a value. The limiter and the key are those of the value's claim. */
export interface ValueName {
  readonly limiter: string;
  readonly key: string;
  /**
   * Any text that contains the owner of the claim. An owner that has lost its claim then can't overwrite the value of
   * the next owner.
   */
  readonly id: string;
}

/**
 * Stores bytes for a limited time. They may be evicted earlier if the store has no room, so readers must handle a
 * missing value. If the store is on a server, the methods reject in the same cases as `apply`.
 */
export interface Values {
  /**
   * Stores a copy of `bytes` for `ttlUs` microseconds (from 1 us to 400 days), or up to a second longer. Replaces an
   * earlier value of this name.
   *
   * @throws SpillwayError `SPW_VALUE_INVALID` if `bytes` is not a Uint8Array of at most 1 MiB, or for an invalid time
   */
  set(
    name: ValueName,
    bytes: Uint8Array,
    ttlUs: number,
    options?: ApplyOptions,
  ): void | Promise<void>;
  /** The value of this name; undefined if none is stored. The caller may change the returned bytes. */
  get(
    name: ValueName,
    options?: ApplyOptions,
  ): Uint8Array | undefined | Promise<Uint8Array | undefined>;
}

/** Values of a store that answers without a promise. */
export interface SyncValues extends Values {
  set(name: ValueName, bytes: Uint8Array, ttlUs: number, options?: ApplyOptions): void;
  get(name: ValueName, options?: ApplyOptions): Uint8Array | undefined;
}

/** The most bytes of one value: 1 MiB. */
export const MAX_VALUE_BYTES = 1_048_576;

/** The `code` of a value, for stores that name values with `encodeName`. */
export function valueCode(id: string): string {
  return `v:${encodeText(id)}`;
}

/**
 * Checks a value. Every store must call this before it stores a value.
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
  if (Number.isSafeInteger(ttlUs) && ttlUs >= 1 && ttlUs <= LONGEST_US) return;
  throw invalid('stored for 1 microsecond to 400 days, in whole microseconds', show(ttlUs));
}

function invalid(what: string, got: string): SpillwayError {
  return new SpillwayError('SPW_VALUE_INVALID', `a value must be ${what}, got ${got}`);
}
