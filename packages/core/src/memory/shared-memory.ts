/** The memory that limiters without a store share, one for each clock. Each limiter object has separate counts. */

import { type Clock, systemClock } from '../base/clock.js';
import { Memory } from './memory.js';

export const MAX_ENTRIES = 1_000_000;

export class SharedMemory {
  readonly store: Memory;
  private readonly names = new WeakMap<object, string>();
  private named = 0;

  constructor(clock: Clock) {
    this.store = new Memory(clock, MAX_ENTRIES);
  }

  get limiters(): number {
    return this.named;
  }

  limiterNameOf(limiter: object): string {
    let name = this.names.get(limiter);
    if (name === undefined) {
      this.named += 1;
      name = this.named.toString(36);
      this.names.set(limiter, name);
    }
    return name;
  }
}

const memories = new WeakMap<Clock, SharedMemory>();

export function sharedMemory(clock: Clock = systemClock): SharedMemory {
  const memory = memories.get(clock) ?? new SharedMemory(clock);
  memories.set(clock, memory);
  return memory;
}
