/** Bytes that a store keeps beside its counts, such as the answer that belongs to a claim. */

import { encodeText } from '../base/encode-name.js';
import { SpillwayError, show } from '../base/errors.js';
import type { ApplyOptions } from './apply-options.js';

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
