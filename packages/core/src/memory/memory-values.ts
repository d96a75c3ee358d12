/** The values of a store in memory: as many bytes as it may keep; the oldest make room. */

import type { Clock } from '../base/clock.js';
import { SpillwayError } from '../base/errors.js';
import { checkValue, type SyncValues, type ValueName } from '../contract/store.js';

/** What an entry takes beside its bytes and its name: without it, many empty values would fill the memory. */
const ENTRY_BYTES = 128;

/** What is kept where nothing else is said. */
export const VALUE_BYTES: number = 64 * 2 ** 20;

interface Kept {
  readonly bytes: Uint8Array;
  readonly endsUs: number;
  /** What it counts in the budget. */
  readonly size: number;
}

export class MemoryValues implements SyncValues {
  /** The oldest first. */
  private readonly kept = new Map<string, Kept>();
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
      throw new SpillwayError('SPW_STORE_ERROR', 'the value has no room: raise valueBytes', {
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

/** The lengths keep the names apart. */
function textOf({ limiter, key, id }: ValueName): string {
  return `${limiter.length} ${key.length} ${limiter}${key}${id}`;
}

const shared = new WeakMap<object, MemoryValues>();

/** The values beside the memory of limiters without a store; made when they are first needed. */
export function sharedValues(memory: object, clock: Clock): MemoryValues {
  const values = shared.get(memory) ?? new MemoryValues(clock, VALUE_BYTES);
  shared.set(memory, values);
  return values;
}
