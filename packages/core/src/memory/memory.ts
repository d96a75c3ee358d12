import { groupPasses, spread, startTogether, uniqueGroup } from '../algorithms/group.js';
import { KnownCounts } from '../algorithms/known-counts.js';
import type { Clock } from '../base/clock.js';
import type { Ask } from '../contract/ask.js';
import type { Answer, BucketRule, Rule } from '../contract/rule.js';
import type { Shelf } from '../contract/shelf.js';
import type { Op, Step, SyncValues } from '../contract/store.js';
import type { StoreLink } from '../contract/store-link.js';
import { LocalLink, type OneStepStore } from './local-link.js';
import {
  asLook,
  keepingShared,
  needsRoom,
  noRoom,
  OVERFLOW_COUNTS,
  Overflow,
  onShared,
} from './overflow.js';
import { Shelves } from './shelves.js';

export class Memory implements OneStepStore {
  readonly sync = true;

  private readonly own = new Shelves();
  // Cached in a field, because nearly all decisions use the buckets.
  private readonly buckets = this.own.buckets;
  /** The shared counts, in a separate object that can change even if the store is frozen. */
  private readonly overflow = new Overflow();
  readonly clock: Clock;
  private readonly maxEntries: number;
  /**
   * Only in a `forgivingMemory`: pauses and locks are added up to this many entries, other counts only up to
   * `maxEntries`.
   */
  private readonly forgivesUpTo: number | undefined;
  private readonly known = new KnownCounts();
  /**
   * Undefined in a `forgivingMemory`, and in the memory that limiters without a store share. For the latter,
   * `idempotency()` creates the values.
   */
  readonly values: SyncValues | undefined;

  constructor(clock: Clock, maxEntries: number, values?: SyncValues, forgivesUpTo?: number) {
    this.clock = clock;
    this.values = values;
    this.maxEntries = maxEntries;
    this.forgivesUpTo = forgivesUpTo;
  }

  link(): StoreLink {
    return new LocalLink(this, Memory.prototype.apply);
  }

  get size(): number {
    return this.own.size + this.overflow.size;
  }

  get overflowed(): number {
    return this.overflow.uses;
  }

  register(limiter: string, rule: Rule): void {
    this.known.note(limiter, rule);
  }

  apply(steps: readonly Step[]): readonly Answer[] {
    const [step] = steps;
    return steps.length === 1 && step && isPlain(step)
      ? [this.applyOne(step)]
      : this.applyGroup(steps);
  }

  private applyGroup(steps: readonly Step[]): readonly Answer[] {
    const nowUs = this.clock.nowUs();
    const group = uniqueGroup(steps);
    const { uses } = this.overflow;
    const judge = (step: Step) => this.applyOne(step, nowUs, false);
    const unique = startTogether(group.steps, judge);
    const passes = groupPasses(unique, (step) => judge(step).allowed);
    this.overflow.uses = uses; // a preview doesn't count as a decision
    return spread(
      group,
      unique.map((step) => this.applyOne(step, nowUs, passes)),
    );
  }

  /**
   * Applies one step. With `charge` false, a `take` charges nothing and answers whether it would pass. With `others`, a
   * `reset` also resets the key's counts under the limiter's other rules.
   *
   * Contains only the fast path of a bucket, because V8 inlines a short method. Other splits of this code made
   * decisions a fifth slower.
   */
  applyOne(step: Step, nowUs: number = this.clock.nowUs(), charge = true, others = true): Answer {
    const { op, rule } = step;
    if (op === 'reset' && others) {
      for (const other of this.known.otherResets(step)) this.applyOne(other, nowUs, charge, false);
    }
    if (rule.machine !== 'bucket')
      return this.perform(step, this.own.shelfFor(rule), nowUs, charge);
    const { buckets } = this;
    const slot = buckets.slotOf(step.limiter, rule, step.key, nowUs);
    return slot >= 0 && op === 'take' && charge && buckets.isPlain(rule, step.cost)
      ? buckets.takeWhole(slot, rule, step.cost, nowUs)
      : this.performBucket(step, slot, nowUs, charge);
  }

  /**
   * Like {@link performOn}, but only for buckets, because calls on a known class are faster than calls through `Shelf`.
   */
  private performBucket(step: Step, slot: number, nowUs: number, charge: boolean): Answer {
    const { buckets } = this;
    const count = buckets.load(slot);
    return count
      ? buckets.step({ ask: step as Ask<BucketRule>, nowUs, charge, mayGrow: true, count })
      : this.performOn(step, buckets, count, nowUs, charge, false);
  }

  private perform(step: Step, shelf: Shelf<Rule>, nowUs: number, charge: boolean): Answer {
    // Must run before the count is looked up, because it may evict the count.
    const isFull = shelf.grows && this.overflows(nowUs);
    if (isFull || !shelf.stepStored) {
      return this.performOn(step, shelf, shelf.find(step, nowUs), nowUs, charge, isFull);
    }
    const answer = shelf.stepStored(step, nowUs, charge);
    return answer ?? this.performOn(step, shelf, undefined, nowUs, charge, isFull);
  }

  private performOn(
    step: Step,
    shelf: Shelf<Rule>,
    count: unknown,
    nowUs: number,
    charge: boolean,
    isFull: boolean,
  ): Answer {
    const full = isFull || (count === undefined && this.overflows(nowUs, step.op));
    if (shelf.alone) {
      const fails = full && count === undefined && needsRoom(step);
      return fails
        ? noRoom(step, shelf, nowUs)
        : shelf.step({ ask: step, nowUs, charge, mayGrow: true, count });
    }
    if (full && count === undefined && this.forgivesUpTo) {
      // New keys are not counted, and units that were never counted couldn't be refunded. So the step becomes a `look`.
      const looked = shelf.step({ ask: asLook(step), nowUs, charge: false, mayGrow: false });
      return { ...looked, provisional: true };
    }
    const isAlone = count !== undefined && step.rule.logic.merges;
    const shared = isAlone ? undefined : this.overflow.countsAt(nowUs, full);
    return shared
      ? this.performShared(step, shelf, count, shared.shelfFor(step.rule), nowUs, charge, full)
      : shelf.step({ ask: step, nowUs, charge, mayGrow: !full, count });
  }

  /**
   * Runs a step of a key that may have been charged on a shared count. A permit is renewed and released in the count
   * that granted it. The limit applies to the permits in the key's own count and in the shared count together.
   */
  private performShared(
    step: Step,
    shelf: Shelf<Rule>,
    count: unknown,
    shared: Shelf<Rule>,
    nowUs: number,
    charge: boolean,
    full: boolean,
  ): Answer {
    const there = onShared(step, this.placeOf(step));
    const other = shared.find(there, nowUs);
    const isShared = full || (other !== undefined && shared.holds?.(other, there) === true);
    const answer = isShared
      ? shared.step({
          ask: keepingShared(there),
          nowUs,
          charge,
          mayGrow: false,
          count: other,
          other: count,
        })
      : shelf.step({
          ask: count ? step : keepingShared(step),
          nowUs,
          charge,
          mayGrow: true,
          count,
          other,
        });
    const expiresUs = (isShared ? shared : shelf).expiresAtUs(step.rule, answer);
    return this.overflow.noted(step, answer, isShared, expiresUs);
  }

  private overflows(nowUs: number, op?: Op): boolean {
    const most = (op === 'hold' && this.forgivesUpTo) || this.maxEntries;
    if (this.own.size < most) return false;
    this.own.reclaim(nowUs);
    this.overflow.reclaim(nowUs);
    return this.own.size >= most;
  }

  private placeOf({ limiter, key }: Step): string {
    return `${this.buckets.spread(`${limiter} ${key}`, OVERFLOW_COUNTS)}`;
  }
}

function isPlain(step: Step): boolean {
  const { op, rule, claim } = step;
  return op !== 'hold' && op !== 'done' && claim === undefined && rule.machine !== 'claims';
}
