/** The values of a memory store, limited in bytes. The oldest are evicted first. */

import type { Clock } from '../base/clock.js';
import { SpillwayError } from '../base/errors.js';
import { getOrMake } from '../base/get-or-make.js';
import { checkValue, type SyncValues, type ValueName } from '../contract/store.js';

/** Charged for each entry beside its value and name, because many empty values could fill the memory. */
const ENTRY_BYTES = 128;

export const VALUE_BYTES: number = 64 * 2 ** 20;

interface StoredValue {
  readonly bytes: Uint8Array;
  readonly endsUs: number;
  readonly size: number;
}

export class MemoryValues implements SyncValues {
  private readonly kept = new Map<string, StoredValue>();
  private used = 0;
  private readonly clock: Clock;
  private readonly most: number;

  constructor(clock: Clock, most: number) {
    this.clock = clock;
    this.most = most;
  }

  set(name: ValueName, bytes: Uint8Array, ttlUs: number): void {
    checkValue(bytes, ttlUs);
    const text = textOf(name);
    this.drop(text);
    const size = bytes.length + 2 * text.length + ENTRY_BYTES;
    if (size > this.most) {
      throw new SpillwayError('SPW_STORE_ERROR', 'the value does not fit: raise valueBytes', {
        kind: 'full',
      });
    }
    const nowUs = this.clock.nowUs();
    for (const [other, { endsUs }] of this.kept) {
      if (this.used + size <= this.most && endsUs > nowUs) break;
      this.drop(other);
    }
    this.kept.set(text, { bytes: bytes.slice(), endsUs: nowUs + ttlUs, size });
    this.used += size;
  }

  get(name: ValueName): Uint8Array | undefined {
    const text = textOf(name);
    const kept = this.kept.get(text);
    if (!kept) return undefined;
    if (kept.endsUs > this.clock.nowUs()) return kept.bytes.slice();
    this.drop(text);
    return undefined;
  }

  private drop(text: string): void {
    const kept = this.kept.get(text);
    if (!kept) return;
    this.kept.delete(text);
    this.used -= kept.size;
  }
}

/** The lengths of limiter and key make the text unique. */
function textOf({ limiter, key, id }: ValueName): string {
  return `${limiter.length} ${key.length} ${limiter}${key}${id}`;
}

const shared = new WeakMap<object, MemoryValues>();

/** The values that belong to the shared memory of limiters without a store. */
export function sharedValues(memory: object, clock: Clock): MemoryValues {
  return getOrMake(shared, memory, () => new MemoryValues(clock, VALUE_BYTES));
}
