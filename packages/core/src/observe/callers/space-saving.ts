/**
 * Finds the most frequent callers of a stream in bounded memory: the Space-Saving algorithm (A. Metwally, D. Agrawal
 * and A. El Abbadi, "Efficient computation of frequent and top-k elements in data streams", 2005), here with callers
 * replaced in batches. In a flood of new callers, replacing them one by one would take several times as long.
 */

import { detached } from '../../base/fingerprint.js';
import type { CallerList } from './caller-list.js';

const COUNTERS = 400;

/** A full table keeps this many callers when a new one comes: all with more than 1 % of the total. */
const KEPT = 100;

/**
 * The length of the longest unshortened key, in UTF-16 units. Longer keys are shortened, so that a client can't fill
 * memory with them. Their ends are kept as well as their beginnings, because tokens of one issuer may have a long
 * common beginning.
 */
const MAX_KEY = 256;

export class SpaceSaving {
  total = 0;
  private slots = new Map<string, number>();
  /** Upper bounds of the additions: those counted since the caller got the slot, plus `inherited`. */
  private counts: number[] = [];
  /** How many additions of each slot's caller may have been dropped before it got the slot. */
  private inherited: number[] = [];
  /** An upper bound of the additions of each caller without a slot. */
  private dropped = 0;

  add(key: string | undefined): void {
    this.total += 1;
    if (key === undefined) return;
    const name = key.length > MAX_KEY ? shortened(key) : key;
    const slot = this.slots.get(name);
    if (slot === undefined) this.insert(name);
    else this.counts[slot] = (this.counts[slot] as number) + 1;
  }

  list(): CallerList {
    const { total, dropped: othersAtMost, counts, inherited } = this;
    const callers = Array.from(this.slots, ([caller, slot]) => {
      const atMost = counts[slot] as number;
      return { caller, atLeast: atMost - (inherited[slot] as number), atMost };
    });
    return { total, callers, othersAtMost };
  }

  private insert(name: string): void {
    if (this.counts.length === COUNTERS) this.dropLeast();
    // A key may be a slice of a long string, such as a header, and would keep the whole string in memory.
    this.slots.set(detached(name), this.counts.length);
    this.counts.push(this.dropped + 1);
    this.inherited.push(this.dropped);
  }

  private dropLeast(): void {
    const { slots, counts, inherited } = this;
    this.dropped = Float64Array.from(counts).sort()[COUNTERS - KEPT - 1] as number;
    this.slots = new Map();
    this.counts = [];
    this.inherited = [];
    for (const [name, slot] of slots) {
      const count = counts[slot] as number;
      if (count <= this.dropped) continue;
      this.slots.set(name, this.counts.length);
      this.counts.push(count);
      this.inherited.push(inherited[slot] as number);
    }
  }
}

function shortened(key: string): string {
  const half = MAX_KEY / 2;
  return `${key.slice(0, half - 1)}…${key.slice(-half)}`;
}
