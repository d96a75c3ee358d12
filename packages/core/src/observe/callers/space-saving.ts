/**
 * Finds the most frequent callers of a stream in bounded memory: the Space-Saving algorithm (A. Metwally, D. Agrawal
 * and A. El Abbadi, "Efficient computation of frequent and top-k elements in data streams", 2005).
 */

import type { CallerList } from './caller-list.js';

/** How many callers are counted at once. Every caller with more than 1 % of the total is among them. */
const COUNTERS = 100;

/**
 * The longest key, in UTF-16 units. Longer keys are shortened, so that a client cannot fill memory with them. Their
 * ends are kept too, because tokens of one issuer may have a long common beginning.
 */
const MAX_KEY = 256;

export class SpaceSaving {
  /** All additions, including those without a key. */
  total = 0;
  private readonly slots = new Map<string, number>();
  private readonly keys: string[] = [];
  private readonly counts: number[] = [];
  /**
   * By slot: the count that the caller inherited from the caller it replaced. Its own count may be lower by up to this
   * number.
   */
  private readonly inherited: number[] = [];
  /** A lower bound of all counts, once all counters are in use. */
  private least = 0;
  private cursor = 0;
  /** The slot of the latest addition. */
  private latest = 0;

  /** @param key undefined for decisions without a key, such as those of a load shedder */
  add(key: string | undefined): void {
    this.total += 1;
    if (key === undefined) return;
    // In a flood from one caller, a comparison is enough: a lookup would first hash the key, a new string each time.
    if (key === this.keys[this.latest]) {
      this.counts[this.latest] = (this.counts[this.latest] as number) + 1;
      return;
    }
    const name = key.length > MAX_KEY ? shortened(key) : key;
    const slot = this.slots.get(name);
    if (slot !== undefined) {
      this.counts[slot] = (this.counts[slot] as number) + 1;
      this.latest = slot;
    } else if (this.keys.length < COUNTERS) this.assign(name, this.keys.length, 0);
    else this.replaceLeast(name);
  }

  list(): CallerList {
    const isFull = this.keys.length === COUNTERS;
    return {
      total: this.total,
      callers: this.keys.map((caller, slot) => {
        const atMost = this.counts[slot] as number;
        return { caller, atLeast: atMost - (this.inherited[slot] as number), atMost };
      }),
      othersAtMost: isFull ? Math.min(...this.counts) : 0,
    };
  }

  private replaceLeast(name: string): void {
    const slot = this.leastSlot();
    this.slots.delete(this.keys[slot] as string);
    this.assign(name, slot, this.counts[slot] as number);
  }

  private assign(name: string, slot: number, inherited: number): void {
    this.slots.set(name, slot);
    this.keys[slot] = name;
    this.inherited[slot] = inherited;
    this.counts[slot] = inherited + 1;
    this.latest = slot;
  }

  /** A slot with the lowest count. Counts never decrease, so the search continues where the last one ended. */
  private leastSlot(): number {
    for (let looked = 0; looked < COUNTERS; looked += 1) {
      this.cursor = (this.cursor + 1) % COUNTERS;
      if (this.counts[this.cursor] === this.least) return this.cursor;
    }
    this.least = Math.min(...this.counts);
    return this.counts.indexOf(this.least);
  }
}

function shortened(key: string): string {
  const half = MAX_KEY / 2;
  return `${key.slice(0, half - 1)}…${key.slice(-half)}`;
}
