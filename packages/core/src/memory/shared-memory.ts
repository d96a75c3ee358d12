/**
 * The memory of limiters that were given no store: one for each clock in a process. Each limiter object has its own
 * count.
 */

import { type Clock, systemClock } from '../base/clock.js';
import { type MemoryStore, memoryStore } from './memory-store.js';

export class SharedMemory {
  readonly store: MemoryStore;
  private readonly names = new WeakMap<object, string>();
  private named = 0;

  constructor(clock: Clock) {
    this.store = memoryStore({ clock });
  }

  /** How many limiters have a count here, or had. */
  get limiters(): number {
    return this.named;
  }

  /** The name of a limiter in the store: always the same for one object, and never that of another object. */
  nameOf(limiter: object): string {
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

/** The memory that uses `clock`; made when it is first needed. */
export function sharedMemory(clock: Clock = systemClock): SharedMemory {
  const memory = memories.get(clock) ?? new SharedMemory(clock);
  memories.set(clock, memory);
  return memory;
}
