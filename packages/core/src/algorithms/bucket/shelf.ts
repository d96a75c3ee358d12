/** Buckets by limiter, code and key: fingerprints in a flat table, and a small map that finds hot keys faster. */

import { detached, type Fingerprint, fingerprint, randomSeed } from '../../base/fingerprint.js';
import type { BucketAnswer } from '../../contract/answer.js';
import type { Ask } from '../../contract/ask.js';
import type { BucketRule } from '../../contract/rule.js';
import type { Shelf } from '../../contract/shelf.js';
import { ByCount } from '../shelves/by-count.js';
import { type BucketState, mayWrite, stepBucket } from './step.js';
import { BucketTable } from './table.js';

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

/**
 * A limiter and code have a fingerprint, and a key has one, made with another seed. The exclusive or of the two
 * identifies the bucket. It is as hard to find two that are equal as with one fingerprint of both texts.
 */
export class BucketShelf implements Shelf<BucketRule, BucketState> {
  readonly grows = false;
  private readonly table = new BucketTable();
  private readonly limiters = new ByCount<Limiter>(
    (name, code) => this.makeLimiter(name, code),
    () => true,
  );
  // Most calls come from the limiter of the last call. Comparing rules as objects is faster than comparing their codes.
  private last: Limiter | undefined;
  private lastRule: BucketRule | undefined;
  private keySeed: Fingerprint | undefined;
  private limiterSeed: Fingerprint | undefined;
  // Used again for each call, so that a decision makes no object except its answer.
  private readonly state: BucketState = { tatUs: 0, tatNum: 0 };
  private epoch = 0;
  private hotKeys = 0;
  private misses = 0;
  // What was looked for last, and where it is; `step` uses it.
  private lo = 0;
  private hi = 0;
  private slot = -1;

  get size(): number {
    return this.table.size;
  }

  find({ limiter, rule, key }: Ask<BucketRule>, nowUs: number): BucketState | undefined {
    return this.load(this.slotOf(limiter, rule, key, nowUs));
  }

  /** The slot of a key, -1 if there is none. Valid until the next call of another method than {@link load}. */
  slotOf(limiterName: string, rule: BucketRule, key: string, nowUs: number): number {
    if (this.epoch !== this.table.generation) this.forgetHot();
    let limiter = this.last;
    if (rule !== this.lastRule || limiter === undefined || limiter.name !== limiterName) {
      limiter = this.turnTo(limiterName, rule);
    }
    const hot = limiter.hot.get(key);
    return hot === undefined ? this.search(limiter, key, nowUs) : hot;
  }

  /** The bucket at `slot`, which {@link slotOf} has just returned. */
  load(slot: number): BucketState | undefined {
    this.slot = slot;
    if (slot < 0) return undefined;
    this.table.load(slot, this.state);
    return this.state;
  }

  step(
    { op, rule, cost, receipt }: Ask<BucketRule>,
    nowUs: number,
    charge: boolean,
    _mayGrow: boolean,
    stored?: BucketState,
    other?: BucketState,
  ): BucketAnswer {
    const { state } = this;
    if (!stored) {
      state.tatUs = other ? other.tatUs : 0;
      state.tatNum = other ? other.tatNum : 0;
    }
    const { tatUs, tatNum } = state;
    const allowed = stepBucket(rule, state, op, cost, nowUs, charge, receipt);
    const changed = state.tatUs !== tatUs || state.tatNum !== tatNum;
    if (changed && mayWrite(op, cost, allowed)) {
      const at = stored ? this.slot : this.table.add(this.lo, this.hi, nowUs);
      this.table.store(at, state);
    }
    return { allowed, nowUs, tatUs: state.tatUs, tatNum: state.tatNum };
  }

  /** Whether {@link takeWhole} can do the take. */
  isPlain(rule: BucketRule, cost: number): boolean {
    return rule.den === 1 && cost > 0 && cost <= rule.burst && this.table.isWhole;
  }

  /**
   * Like {@link step}, for a take whose numbers are whole microseconds, as in nearly all takes: it changes the table
   * directly, which is a quarter faster. A bucket is charged in four places, which must do the same. If you change one,
   * change all four: this method, stepBucket in core/src/algorithms/bucket/step.ts, and bucket.lua and takes.lua in
   * packages/redis/src/algorithms/bucket.
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

  restsAt(_: BucketRule, { tatUs }: BucketAnswer): number {
    return tatUs + 1;
  }

  reclaim(nowUs: number): void {
    this.table.reclaim(nowUs);
  }

  /** One of `counts` numbers, the same for the same key. */
  spread(key: string, counts: number): number {
    return (this.identify(key).hi >>> 0) % counts;
  }

  // Apart from `slotOf`, which is short enough to be inlined without them.
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
