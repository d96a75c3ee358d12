/** Buckets by limiter, code and key: fingerprints in a flat table, with a small map in front for hot keys. */

import { type BucketState, mayWrite, stepBucket } from '../algorithms/bucket.js';
import { detached, type Fingerprint, fingerprint, randomSeed } from '../base/fingerprint.js';
import type { BucketRule } from '../contract/rule.js';
import type { BucketAnswer, Step } from '../contract/store.js';
import { BucketTable } from './bucket-table.js';
import { ByCount } from './by-count.js';

/** How many keys the map in front holds at most, and how long they may be: about 2 MB. */
const HOT_KEYS = 16_384;
const HOT_LENGTH = 64;

/** What is known of a limiter and a code; made anew when dropped. */
interface Limiter {
  readonly name: string;
  readonly print: Fingerprint;
  /** Slots of hot keys, good for one generation of the table. */
  readonly hot: Map<string, number>;
}

/**
 * A limiter with a code, and a key, are identified by the exclusive or of their fingerprints, which are made under
 * different seeds: as hard to make meet as one fingerprint of both.
 */
export class BucketShelf {
  private readonly table = new BucketTable();
  private readonly limiters = new ByCount<Limiter>(
    (name, code) => this.makeLimiter(name, code),
    () => true,
  );
  // Most calls come from the limiter that called last; rules are compared as objects, which is faster than their codes.
  private last: Limiter | undefined;
  private lastRule: BucketRule | undefined;
  private keySeed: Fingerprint | undefined;
  private limiterSeed: Fingerprint | undefined;
  // A register, so that a decision makes no object but its answer.
  private readonly state: BucketState = { tatUs: 0, tatNum: 0 };
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
  find(limiterName: string, rule: BucketRule, key: string, nowUs: number): number {
    if (this.epoch !== this.table.generation) this.forgetHot();
    let limiter = this.last;
    if (rule !== this.lastRule || limiter === undefined || limiter.name !== limiterName) {
      limiter = this.turnTo(limiterName, rule);
    }
    const hot = limiter.hot.get(key);
    return hot === undefined ? this.search(limiter, key, nowUs) : hot;
  }

  /**
   * Does a step to the key that {@link find} has just looked for, at the slot it gave. Without one the step begins with
   * the bucket in `other` at `otherSlot`, if that is one, and keeps here what it changes.
   */
  step(
    { op, cost, receipt }: Step,
    rule: BucketRule,
    slot: number,
    nowUs: number,
    charge: boolean,
    other: BucketShelf = this,
    otherSlot = -1,
  ): BucketAnswer {
    const { state } = this;
    const from = slot < 0 ? otherSlot : slot;
    if (from < 0) {
      state.tatUs = 0;
      state.tatNum = 0;
    } else {
      (slot < 0 ? other : this).table.load(from, state);
    }
    const { tatUs, tatNum } = state;
    const allowed = stepBucket(rule, state, op, cost, nowUs, charge, receipt);
    const changed = state.tatUs !== tatUs || state.tatNum !== tatNum;
    if (changed && mayWrite(op, cost, allowed)) {
      const at = slot < 0 ? this.table.add(this.lo, this.hi, nowUs) : slot;
      this.table.store(at, state);
    }
    return { allowed, nowUs, tatUs: state.tatUs, tatNum: state.tatNum };
  }

  /** Whether {@link takeWhole} may do the take. */
  isPlain(rule: BucketRule, cost: number): boolean {
    return rule.den === 1 && cost > 0 && cost <= rule.burst && this.table.isWhole;
  }

  /**
   * {@link step} for the take that nearly all are, of whole microseconds: a quarter faster by not passing through a
   * register.
   */
  takeWhole(slot: number, rule: BucketRule, cost: number, nowUs: number): BucketAnswer {
    const brimUs = nowUs + rule.tolUs;
    const clampedUs = Math.min(this.table.timeAt(slot), brimUs);
    const chargedUs = Math.max(clampedUs, nowUs) + cost * rule.period;
    const allowed = chargedUs <= brimUs;
    const tatUs = allowed ? chargedUs : clampedUs;
    this.table.setTime(slot, tatUs);
    return { allowed, nowUs, tatUs, tatNum: 0 };
  }

  reclaim(nowUs: number): void {
    this.table.reclaim(nowUs);
  }

  /** One of `counts` numbers, the same for the same key. */
  spread(key: string, counts: number): number {
    return (this.identify(key).hi >>> 0) % counts;
  }

  // Apart from `find`, which is short enough to be inlined without them.
  private turnTo(limiterName: string, rule: BucketRule): Limiter {
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

  /** One find in eight is remembered: keys that come often get in, a stream of others costs little. */
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
