import { detached, type Fingerprint, fingerprint, randomSeed } from '../../base/fingerprint.js';
import { ByCount } from './by-count.js';
import { FlatTable, type Keeper } from './flat-table.js';

/** The most keys in the cache. Each has at most 64 characters, so the cache takes about 2 MB. */
const HOT_KEYS = 16_384;
const HOT_LENGTH = 64;

interface Limiter {
  readonly name: string;
  readonly print: Fingerprint;
  readonly hot: Map<string, number>;
}

interface Coded {
  readonly code: string;
}

/**
 * Finds the slots of counts in a table. A count is identified by the exclusive or of two fingerprints with different
 * seeds: one of limiter and code, and one of the key. A collision is as unlikely as with one fingerprint of all three.
 */
export class KeySlots {
  readonly table: FlatTable;
  private readonly limiters = new ByCount<Limiter>(
    (name, code) => this.makeLimiter(name, code),
    () => true,
  );
  // Most calls come from the limiter of the last call. Comparing rules as objects is faster than comparing their codes.
  private last: Limiter | undefined;
  private lastRule: Coded | undefined;
  private keySeed: Fingerprint | undefined;
  private limiterSeed: Fingerprint | undefined;
  private epoch = 0;
  private hotKeys = 0;
  private misses = 0;
  private lo = 0;
  private hi = 0;

  constructor(width: number, keeper?: Keeper) {
    this.table = new FlatTable(width, keeper);
  }

  /** The slot of a key, or -1 if the key has none. Valid until the next call. */
  findSlot(limiterName: string, rule: Coded, key: string, nowUs: number): number {
    if (this.epoch !== this.table.generation) this.clearHot();
    let limiter = this.last;
    if (rule !== this.lastRule || limiter === undefined || limiter.name !== limiterName) {
      limiter = this.turnTo(limiterName, rule);
    }
    const hot = limiter.hot.get(key);
    return hot === undefined ? this.search(limiter, key, nowUs) : hot;
  }

  addSlot(nowUs: number): number {
    return this.table.addEntry(this.lo, this.hi, nowUs);
  }

  spread(key: string, counts: number): number {
    return (this.identify(key).hi >>> 0) % counts;
  }

  // Separate from `findSlot`, which is then short enough to be inlined.
  private turnTo(limiterName: string, rule: Coded): Limiter {
    const limiter = this.limiters.findOrMake(limiterName, rule.code);
    this.last = limiter;
    this.lastRule = rule;
    return limiter;
  }

  private search(limiter: Limiter, key: string, nowUs: number): number {
    const print = this.identify(key);
    this.lo = limiter.print.lo ^ print.lo || 1; // both halves 0 would mean an empty slot
    this.hi = limiter.print.hi ^ print.hi;
    const slot = this.table.findEntry(this.lo, this.hi, nowUs);
    if (slot >= 0) this.cacheSlot(limiter, key, slot);
    return slot;
  }

  private makeLimiter(name: string, code: string): Limiter {
    this.limiterSeed ??= randomSeed();
    // The length is included, so different pairs of code and name have different texts.
    const print = fingerprint(`${code.length} ${code}${name}`, this.limiterSeed);
    return { name, print, hot: new Map() };
  }

  private identify(key: string): Fingerprint {
    this.keySeed ??= randomSeed();
    return fingerprint(key, this.keySeed);
  }

  /** Caches only one search result in eight, so a stream of new keys costs little time. */
  private cacheSlot(limiter: Limiter, key: string, slot: number): void {
    this.misses += 1;
    if ((this.misses & 7) !== 0 || key.length > HOT_LENGTH) return;
    if (this.hotKeys >= HOT_KEYS) this.clearHot();
    limiter.hot.set(detached(key), slot);
    this.hotKeys += 1;
  }

  private clearHot(): void {
    for (const { hot } of this.limiters) hot.clear();
    this.last = undefined;
    this.hotKeys = 0;
    this.epoch = this.table.generation;
  }
}
