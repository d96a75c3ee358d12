import { checkOptions } from '../base/check-shapes.js';
import { checkClock, integerBetween } from '../base/checks.js';
import { type Clock, systemClock } from '../base/clock.js';
import type { NamesOf } from '../base/option-names.js';
import type { SyncStore, SyncValues } from '../contract/store.js';
import type { Linked } from '../contract/store-link.js';
import { MAX_ENTRIES, Memory } from './memory.js';
import { MemoryValues, VALUE_BYTES } from './memory-values.js';

/** Options of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /**
   * The most entries, 1 to 100,000,000: one for each bucket, window, other count or idempotency key in use, and one for
   * each distinct item, request in a log, and request in flight. In a full store, new keys share counts and may be
   * limited too early, never too late; new idempotency keys are rejected, or with `onStoreError: 'allow'` admitted
   * without being stored. Default 1,000,000 (about 25 MB of buckets, 38 MB of windows, 180 MB with penalties, or 900 MB
   * of idempotency keys).
   */
  readonly maxEntries?: number | undefined;
  /**
   * The most bytes of values, such as stored responses: 1 to 2^40. Beyond that, the oldest values are evicted. Default
   * 64 MiB.
   */
  readonly valueBytes?: number | undefined;
  /** Source of time, for tests. Default: the process's monotonic clock. */
  readonly clock?: Clock | undefined;
}

const NAMES: NamesOf<MemoryStoreOptions> = { maxEntries: 1, valueBytes: 1, clock: 1 };

/** The store that {@link memoryStore} returns. */
export interface MemoryStore extends SyncStore, Linked {
  readonly values: SyncValues;
  readonly size: number;
  /** The number of decisions that used a shared count because the store was full. If it grows, raise `maxEntries`. */
  readonly overflowed: number;
}

/**
 * Keeps counts in the memory of one process, limited by `maxEntries`, and answers without a promise.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { createLimiter, memoryStore } from '@spillway/core';
 *
 * const limiter = createLimiter({ limit: 5, window: '1m' }, { store: memoryStore() });
 * limiter.consume('ada').remaining; // 4
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptions(options, 'memoryStore()', NAMES);
  checkClock(options.clock);
  const { maxEntries = MAX_ENTRIES, valueBytes = VALUE_BYTES, clock = systemClock } = options;
  integerBetween('maxEntries', maxEntries, 1, 100_000_000);
  integerBetween('valueBytes', valueBytes, 1, 2 ** 40);
  return new Memory(clock, maxEntries, new MemoryValues(clock, valueBytes)) as Memory & MemoryStore;
}

/**
 * A memory store that doesn't count new keys while it is full, so it never rejects a caller because of another caller's
 * requests. When full, it still has room for `maxEntries` more pauses and locks, because these must apply to new keys
 * too.
 */
export function forgivingMemory(maxEntries: number, clock: Clock): Memory {
  return new Memory(clock, maxEntries, undefined, 2 * maxEntries);
}
