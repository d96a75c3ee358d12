/** Buckets by limiter and key: fingerprints in a flat table, with a small map in front for hot keys. */

import type { BucketState } from '../machines/bucket.js';
import { BucketTable } from './bucket-table.js';
import { detached, type Fingerprint, fingerprint, randomSeed } from './fingerprint.js';

/** How many keys the map in front holds at most, and how long they may be: about 2 MB. */
const HOT_KEYS = 16_384;
const HOT_LENGTH = 64;

interface Limiter {
  readonly name: string;
  readonly print: Fingerprint;
  /** Slots of hot keys, good for one generation of the table. */
  readonly hot: Map<string, number>;
}

/**
 * A limiter and a key are identified by the exclusive or of their fingerprints, which are made under different seeds: as
 * hard to make meet as one fingerprint of both.
 */
export class BucketShelf {
  private readonly table = new BucketTable();
  private readonly limiters = new Map<string, Limiter>();
  private last: Limiter | undefined;
  private keySeed: Fingerprint | undefined;
  private limiterSeed: Fingerprint | undefined;
  private epoch = 0;
  private hotKeys = 0;
  private misses = 0;
  // The identity that `find` looked for last, for `add`.
  private lo = 0;
  private hi = 0;

  get size(): number {
    return this.table.size;
  }

  /** The slot of a key, -1 if there is none; good until the next call of `find` or `add`. */
  find(limiterName: string, key: string, nowUs: number): number {
    const limiter = this.limiter(limiterName);
    if (this.epoch === this.table.generation) {
      const hot = limiter.hot.get(key);
      if (hot !== undefined) return hot;
    } else {
      this.forgetHot();
    }
    const print = this.identify(key);
    this.lo = limiter.print.lo ^ print.lo || 1; // both halves 0 would mean an empty slot
    this.hi = limiter.print.hi ^ print.hi;
    const slot = this.table.find(this.lo, this.hi, nowUs);
    if (slot >= 0) this.remember(limiter, key, slot);
    return slot;
  }

  /** Adds the key that `find` has just not found; store a state in its slot next. */
  add(nowUs: number): number {
    return this.table.add(this.lo, this.hi, nowUs);
  }

  /** Whether no entry owes a fraction of a microsecond: then `timeAt` and `setTime` tell all. */
  get isWhole(): boolean {
    return this.table.isWhole;
  }

  timeAt(slot: number): number {
    return this.table.timeAt(slot);
  }

  setTime(slot: number, us: number): void {
    this.table.setTime(slot, us);
  }

  load(slot: number, state: BucketState): void {
    this.table.load(slot, state);
  }

  store(slot: number, state: BucketState): void {
    this.table.store(slot, state);
  }

  reclaim(nowUs: number): void {
    this.table.reclaim(nowUs);
  }

  /** One of `counts` numbers, the same for the same key. */
  spread(key: string, counts: number): number {
    return (this.identify(key).hi >>> 0) % counts;
  }

  private limiter(name: string): Limiter {
    // Most calls come from the limiter that called last.
    if (this.last?.name === name) return this.last;
    let limiter = this.limiters.get(name);
    if (!limiter) {
      this.limiterSeed ??= randomSeed();
      limiter = { name, print: fingerprint(name, this.limiterSeed), hot: new Map() };
      this.limiters.set(name, limiter);
    }
    this.last = limiter;
    return limiter;
  }

  private identify(key: string): Fingerprint {
    this.keySeed ??= randomSeed();
    return fingerprint(key, this.keySeed);
  }

  /** One find in eight is remembered: keys that come often get in, a stream of others costs little. */
  private remember(limiter: Limiter, key: string, slot: number): void {
    this.misses += 1;
    if ((this.misses & 7) !== 0 || key.length > HOT_LENGTH) return;
    if (this.hotKeys >= HOT_KEYS) this.forgetHot();
    limiter.hot.set(detached(key), slot);
    this.hotKeys += 1;
  }

  private forgetHot(): void {
    for (const { hot } of this.limiters.values()) hot.clear();
    this.hotKeys = 0;
    this.epoch = this.table.generation;
  }
}
