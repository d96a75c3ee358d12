/**
 * The memory of limiters that were given no store: one for each clock in a process. Each limiter object has its own
 * count.
 */

import { type Clock, systemClock } from '../base/clock.js';
import { Memory } from './memory.js';

/** How many entries a memory holds, where nothing else is said. */
export const MAX_ENTRIES = 1_000_000;

export class SharedMemory {
  readonly store: Memory;
  private readonly names = new WeakMap<object, string>();
  private named = 0;

  constructor(clock: Clock) {
    this.store = new Memory(clock, MAX_ENTRIES);
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
