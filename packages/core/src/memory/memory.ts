import { unanswered } from '../algorithms/decide.js';
import { groupPasses, spread, startTogether, uniqueGroup } from '../algorithms/group.js';
import { KnownCounts } from '../algorithms/known-counts.js';
import { type Clock, systemClock } from '../base/clock.js';
import { asError } from '../base/errors.js';
import { getOrMake } from '../base/get-or-make.js';
import type { Eventually } from '../base/host.js';
import type { Ask } from '../contract/ask.js';
import type { Answer, BucketRule, Rule, Shelf } from '../contract/rule.js';
import type { Op, Step, SyncStore, SyncValues } from '../contract/store.js';
import type { StoreLink } from '../contract/store-link.js';
import { keepingShared, needsRoom, noRoom, OVERFLOW_COUNTS, Overflow } from './overflow.js';
import { Shelves } from './shelves.js';

export const MAX_ENTRIES = 1_000_000;

const memories = new WeakMap<Clock, Memory>();

/** The memory that limiters without a store share, one for each clock. Each limiter object has separate counts. */
export function sharedMemory(clock: Clock = systemClock): Memory {
  return getOrMake(memories, clock, () => new Memory(clock, MAX_ENTRIES));
}

export class Memory implements SyncStore {
  readonly sync = true;

  private readonly own = new Shelves();
  // Cached in a field, because nearly all decisions use the buckets.
  private readonly buckets = this.own.buckets;
  /** The shared counts, in a separate object that can change even if the store is frozen. */
  private readonly overflow = new Overflow();
  readonly clock: Clock;
  private readonly maxEntries: number;
  /** Only in a `forgivingMemory`: pauses and locks are added up to this size, other counts up to `maxEntries`. */
  private readonly forgivesUpTo: number | undefined;
  private readonly known = new KnownCounts();
  /** Undefined in a `forgivingMemory` and in a shared memory, whose values `idempotency()` creates. */
  readonly values: SyncValues | undefined;

  constructor(clock: Clock, maxEntries: number, values?: SyncValues, forgivesUpTo?: number) {
    this.clock = clock;
    this.values = values;
    this.maxEntries = maxEntries;
    this.forgivesUpTo = forgivesUpTo;
  }

  link(): StoreLink {
    return new LocalLink(this);
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

  /** {@link performOn} for buckets: calls on a known class are faster than calls through `Shelf`. */
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
    const alone = shelf.alone === true;
    if (full && count === undefined && (alone ? needsRoom(step) : this.forgivesUpTo)) {
      // The key is not counted, and units that were never counted couldn't be refunded. So the step becomes a `look`.
      const ask: Step = needsRoom(step) ? { ...step, op: 'look' } : step;
      const looked = shelf.step({ ask, nowUs, charge: false, mayGrow: false });
      return alone ? noRoom(looked, step) : { ...looked, provisional: true };
    }
    const isAlone = alone || (count !== undefined && !step.rule.logic.hasIds);
    const shared = isAlone ? undefined : this.overflow.countsAt(nowUs, full);
    return shared
      ? this.performShared(step, shelf, count, shared.shelfFor(step.rule), nowUs, charge, full)
      : shelf.step({ ask: step, nowUs, charge, mayGrow: alone || !full, count });
  }

  /**
   * Runs a step of a key that may have been charged on a shared count. A permit is renewed and released in the count
   * that granted it. The limit applies to the permits in the key's own count and in the shared count together.
   *
   * Limiters with the same algorithm use the same shared counts: if an app creates a limiter for each request, separate
   * counts would fill the memory. Each calendar has separate shared counts, because a daily limit would reset the count
   * of a monthly one after a day.
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
    const { rule, limiter, key } = step;
    const place = this.buckets.spread(`${limiter} ${key}`, OVERFLOW_COUNTS);
    const there = { ...step, limiter: rule.logic.declared(rule).algorithm, key: `${place}` };
    const other = shared.find(there, nowUs);
    const isShared = full || (other !== undefined && shared.holds?.(other, there) === true);
    const on = isShared ? shared : shelf;
    const answer = on.step({
      ask: isShared ? keepingShared(there) : count ? step : keepingShared(step),
      nowUs,
      charge,
      mayGrow: !isShared,
      count: isShared ? other : count,
      other: isShared ? count : other,
    });
    return this.overflow.noted(step, answer, isShared, on.expiresAtUs(rule, answer));
  }

  private overflows(nowUs: number, op?: Op): boolean {
    const most = (op === 'hold' && this.forgivesUpTo) || this.maxEntries;
    const { own, overflow } = this;
    if (own.size < most) return false;
    // Once a sweep has left the store full, the other steps of the group don't repeat it.
    if (overflow.fullAtUs !== nowUs) {
      own.reclaim(nowUs);
      overflow.reclaim(nowUs);
      if (own.size < most) return false;
      overflow.fullAtUs = nowUs;
    }
    return true;
  }
}

function isPlain(step: Step): boolean {
  const { op, rule, claim } = step;
  return op !== 'hold' && op !== 'done' && claim === undefined && rule.machine !== 'claims';
}

class LocalLink implements StoreLink {
  readonly clock: Clock;
  private readonly store: Memory;
  readonly giveBack: StoreLink['giveBack'] = this.ask;

  constructor(store: Memory) {
    this.store = store;
    this.clock = store.clock;
  }

  askNow(step: Step): Answer | undefined {
    const { store } = this;
    // A test may have replaced `apply`, for example with a spy, which is then called instead.
    if (store.apply !== Memory.prototype.apply) return undefined;
    try {
      return store.applyOne(step);
    } catch {
      return undefined;
    }
  }

  soon<Value>(value: Value): Promise<Value> {
    return Promise.resolve(value);
  }

  known(): undefined {}

  ask<Value>(
    steps: readonly Step[],
    then: (answers: readonly Answer[]) => Eventually<Value>,
  ): Eventually<Value> {
    let answers: readonly Answer[];
    try {
      answers = this.store.apply(steps);
    } catch (error) {
      const failure = asError(error);
      answers = steps.map((step) => unanswered(step, failure));
    }
    return then(answers);
  }

  forgetAll(): void {}

  forgetReset(): void {}
}
