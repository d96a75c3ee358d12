/** Finds the slot of a limiter, code and key in a flat table: by fingerprint, and by a small map of hot keys. */

import { detached, type Fingerprint, fingerprint, randomSeed } from '../../base/fingerprint.js';
import { ByCount } from './by-count.js';
import { FlatTable, type Keeper } from './flat-table.js';

/** The map in front holds at most so many keys, of at most so many characters: about 2 MB. */
const HOT_KEYS = 16_384;
const HOT_LENGTH = 64;

/** What is kept for one limiter and code; made again after it was dropped. */
interface Limiter {
  readonly name: string;
  readonly print: Fingerprint;
  /** Slots of hot keys, valid for one generation of the table. */
  readonly hot: Map<string, number>;
}

/** What names the counts of a rule. */
interface Coded {
  readonly code: string;
}

/**
 * A limiter and code have a fingerprint, and a key has one, made with another seed. The exclusive or of the two
 * identifies the count. It is as hard to find two that are equal as with one fingerprint of both texts.
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
  // What was searched for last; `add` uses it.
  private lo = 0;
  private hi = 0;

  /** `width`: numbers that are kept for each key. */
  constructor(width: 1 | 2, keeper?: Keeper) {
    this.table = new FlatTable(width, keeper);
  }

  /** The slot of a key, -1 if there is none. Valid until the next call. */
  find(limiterName: string, rule: Coded, key: string, nowUs: number): number {
    if (this.epoch !== this.table.generation) this.forgetHot();
    let limiter = this.last;
    if (rule !== this.lastRule || limiter === undefined || limiter.name !== limiterName) {
      limiter = this.turnTo(limiterName, rule);
    }
    const hot = limiter.hot.get(key);
    return hot === undefined ? this.search(limiter, key, nowUs) : hot;
  }

  /** A new slot for the key that {@link find} has just not found. */
  add(nowUs: number): number {
    return this.table.add(this.lo, this.hi, nowUs);
  }

  /** One of `counts` numbers, the same for the same key. */
  spread(key: string, counts: number): number {
    return (this.identify(key).hi >>> 0) % counts;
  }

  // Apart from `find`, which is short enough to be inlined without them.
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
    const slot = this.table.find(this.lo, this.hi, nowUs);
    if (slot >= 0) this.remember(limiter, key, slot);
    return slot;
  }

  private makeLimiter(name: string, code: string): Limiter {
    this.limiterSeed ??= randomSeed();
    // The length keeps (a, bc) and (ab, c) apart.
    const print = fingerprint(`${code.length} ${code}${name}`, this.limiterSeed);
    return { name, print, hot: new Map() };
  }

  private identify(key: string): Fingerprint {
    this.keySeed ??= randomSeed();
    return fingerprint(key, this.keySeed);
  }

  /** Remembers one find in eight: keys that come often get in, and a stream of other keys takes little time. */
  private remember(limiter: Limiter, key: string, slot: number): void {
    this.misses += 1;
    if ((this.misses & 7) !== 0 || key.length > HOT_LENGTH) return;
    if (this.hotKeys >= HOT_KEYS) this.forgetHot();
    limiter.hot.set(detached(key), slot);
    this.hotKeys += 1;
  }

  private forgetHot(): void {
    for (const { hot } of this.limiters) hot.clear();
    this.last = undefined; // dropped perhaps, and then not among them
    this.hotKeys = 0;
    this.epoch = this.table.generation;
  }
}
