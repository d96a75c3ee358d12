/** The store in this process's memory: synchronous, without timers, with a limit on its size. */

import { checkOptions } from '../base/check-shapes.js';
import { checkClock, integerBetween } from '../base/checks.js';
import { type Clock, systemClock } from '../base/clock.js';
import type {
  Answer,
  BucketAnswer,
  LeasesAnswer,
  LogAnswer,
  WindowAnswer,
} from '../contract/answer.js';
import { chargedBranch, isCharged, spread, uniqueGroup } from '../contract/group.js';
import { KnownCounts } from '../contract/known-counts.js';
import type { BucketRule, LeasesRule, LogRule, Rule, WindowRule } from '../contract/rule.js';
import type { Step, Store, SyncStore } from '../contract/store.js';
import { asLook, COMMON, inCommon, OVERFLOW_COUNTS, Overflow, ofCommon } from './overflow.js';
import { Shelves } from './shelves.js';

export interface MemoryStoreOptions {
  /**
   * The most entries to hold: one for each bucket and window in use, one for each request in a log or in progress.
   * Default 1,000,000 (about 34 MB of buckets). Above it, new keys share 1,024 counts for each set of numbers: they are
   * limited too early, never too late. Only these counts, and more permits of keys that have some already, may exceed
   * it.
   */
  readonly maxEntries?: number | undefined;
  /** The clock. Default: the process's monotonic clock. */
  readonly clock?: Clock | undefined;
}

/** What {@link memoryStore} returns. */
export interface MemoryStore extends SyncStore {
  /** Entries held now. */
  readonly size: number;
  /**
   * Decisions that used a shared count because the store was full. Watch this number, and raise `maxEntries` if it
   * grows.
   */
  readonly overflowed: number;
}

/**
 * Keeps counts in memory, for one process: at most `maxEntries`, answered without a promise.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 * @example
 * ```ts
 * import { createLimiter, memoryStore } from '@spillway/core';
 *
 * const limiter = createLimiter({ limit: 5, window: '1m' }, { store: memoryStore() });
 * limiter.consume('ada').remaining; // 4
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptions(options);
  const { maxEntries = 1_000_000, clock } = options;
  checkClock(clock);
  return new Memory(clock ?? systemClock, integerBetween('maxEntries', maxEntries, 1, 100_000_000));
}

/** A memory store that refuses only callers that it has counted. At `maxEntries` it does not count new keys. */
export function forgivingMemory(maxEntries: number, clock: Clock): MemoryStore {
  return new Memory(clock, maxEntries, true);
}

/** What a memory store can beside `apply`: one step, without a list for it or for its answer. */
export interface OneStepStore {
  readonly apply: SyncStore['apply'];
  applyOne(step: Step): Answer;
}

/** `store`, if it is a memory store of which nobody has replaced `apply`, as a proxy or a spy does. */
export function oneStepStore(store: Store): OneStepStore | undefined {
  return store instanceof Memory && store.apply === applyOfMemory ? store : undefined;
}

class Memory implements MemoryStore, OneStepStore {
  readonly sync = true;

  private readonly own = new Shelves();
  // Kept in a field of its own, because nearly all decisions use it.
  private readonly buckets = this.own.buckets;
  /** In an object of its own, so that it changes in a frozen store too. */
  private readonly overflow = new Overflow();
  private readonly clock: Clock;
  private readonly maxEntries: number;
  /** What happens to a new key when there is no room: true: it is not counted; false: it shares a count. */
  private readonly forgives: boolean;
  private readonly known = new KnownCounts();

  constructor(clock: Clock, maxEntries: number, forgives = false) {
    this.clock = clock;
    this.maxEntries = maxEntries;
    this.forgives = forgives;
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
    return steps.length === 1 && step?.branch === undefined
      ? [this.applyOne(step as Step)]
      : this.applyGroup(steps);
  }

  private applyGroup(steps: readonly Step[]): readonly Answer[] {
    const nowUs = this.clock.nowUs();
    const group = uniqueGroup(steps);
    const { uses } = this.overflow;
    const charged = chargedBranch(group, (step) => this.applyOne(step, nowUs, false).allowed);
    this.overflow.uses = uses; // asked in advance: that is no decision
    return spread(
      group,
      group.steps.map((step) => this.applyOne(step, nowUs, isCharged(step, charged))),
    );
  }

  /**
   * One step. With `charge` false a `take` only says whether it would pass. With `others` a `reset` also resets the
   * other counts of its limiter.
   *
   * One long method on purpose: V8 does not inline it into its callers, and compiles it as a whole. When it was split,
   * V8 inlined some parts and not others, and a decision took a fifth longer.
   */
  applyOne(step: Step, nowUs: number = this.clock.nowUs(), charge = true, others = true): Answer {
    const { op, rule } = step;
    if (op === 'reset' && others) {
      for (const other of this.known.otherResets(step)) this.applyOne(other, nowUs, charge, false);
    }
    switch (rule.machine) {
      case 'bucket': {
        const { buckets } = this;
        const slot = buckets.find(step.limiter, rule, step.key, nowUs);
        return slot >= 0 && op === 'take' && charge && buckets.isPlain(rule, step.cost)
          ? buckets.takeWhole(slot, rule, step.cost, nowUs)
          : this.stepBucket(slot, step, rule, nowUs, charge);
      }
      case 'window':
        return this.performWindow(step, rule, nowUs, charge);
      case 'log':
        return this.performLog(step, rule, nowUs, charge);
      case 'leases':
        return this.performLeases(step, rule, nowUs, charge);
    }
  }

  private stepBucket(
    slot: number,
    step: Step,
    rule: BucketRule,
    nowUs: number,
    charge: boolean,
  ): BucketAnswer {
    const { buckets } = this;
    const full = slot < 0 && this.overflows(nowUs);
    if (full && this.forgives)
      return uncounted(buckets.step(asLook(step), rule, slot, nowUs, false));
    const common = slot < 0 ? this.overflow.countsAt(nowUs, full)?.buckets : undefined;
    if (!common) return buckets.step(step, rule, slot, nowUs, charge);
    const shared = common.find(COMMON, rule, this.placeOf(step), nowUs);
    const asked = inCommon(step);
    const answer = full
      ? common.step(asked, rule, shared, nowUs, charge)
      : buckets.step(asked, rule, slot, nowUs, charge, common, shared);
    return this.overflow.noted(step, answer, full, answer.tatUs + 1);
  }

  private performWindow(
    step: Step,
    rule: WindowRule,
    nowUs: number,
    charge: boolean,
  ): WindowAnswer {
    const { windows } = this.own;
    const { key } = step;
    const stored = windows.get(step, key);
    const full = !stored && this.overflows(nowUs);
    if (full && this.forgives)
      return uncounted(windows.step(asLook(step), rule, key, nowUs, false, stored));
    const common = stored ? undefined : this.overflow.countsAt(nowUs, full)?.windows;
    if (!common) return windows.step(step, rule, key, nowUs, charge, stored);
    const place = this.placeOf(step);
    const shared = common.get(ofCommon(step), place);
    const asked = inCommon(step);
    const answer = full
      ? common.step(ofCommon(asked), rule, place, nowUs, charge, shared)
      : windows.step(asked, rule, key, nowUs, charge, undefined, shared);
    return this.overflow.noted(step, answer, full, answer.startUs + 2 * rule.windowUs);
  }

  private performLog(step: Step, rule: LogRule, nowUs: number, charge: boolean): LogAnswer {
    const { logs } = this.own;
    const { key } = step;
    const full = this.overflows(nowUs); // first, because it may drop what has expired of this key
    const stored = logs.get(step, key);
    if (!stored && full && this.forgives) {
      return uncounted(logs.step(asLook(step), rule, key, nowUs, false, false, stored));
    }
    const common = stored ? undefined : this.overflow.countsAt(nowUs, full)?.logs;
    if (!common) return logs.step(step, rule, key, nowUs, charge, !full, stored);
    const place = this.placeOf(step);
    const shared = common.get(ofCommon(step), place);
    const asked = inCommon(step);
    const answer = full
      ? common.step(ofCommon(asked), rule, place, nowUs, charge, false, shared)
      : logs.step(asked, rule, key, nowUs, charge, true, undefined, shared);
    return this.overflow.noted(step, answer, full, answer.lastUs + rule.windowUs);
  }

  /** A permit is looked for where it was taken, and permits in both places count. */
  private performLeases(
    step: Step,
    rule: LeasesRule,
    nowUs: number,
    charge: boolean,
  ): LeasesAnswer {
    const { leases } = this.own;
    const { key } = step;
    const full = !leases.has(step, key) && this.overflows(nowUs);
    if (full && this.forgives) return leases.step(asLook(step), rule, key, nowUs, false);
    const common = this.overflow.countsAt(nowUs, full)?.leases;
    if (!common) return leases.step(step, rule, key, nowUs, charge);
    const place = this.placeOf(step);
    const there = ofCommon(step);
    if (!full && !common.holds(there, place, nowUs)) {
      return leases.step(step, rule, key, nowUs, charge, common.view(there, place, nowUs));
    }
    const asked = step.op === 'put' ? there : inCommon(there);
    const answer = common.step(asked, rule, place, nowUs, charge, leases.view(step, key, nowUs));
    return asked.op === 'put'
      ? answer
      : this.overflow.noted(step, answer, true, nowUs + rule.leaseUs);
  }

  /** Whether there is no room for one more entry, after dropping entries that are not needed. */
  private overflows(nowUs: number): boolean {
    if (this.own.size < this.maxEntries) return false;
    this.own.reclaim(nowUs);
    this.overflow.reclaim(nowUs);
    return this.own.size >= this.maxEntries;
  }

  /** The key under which a key is counted in the shared counts. */
  private placeOf({ limiter, key }: Step): string {
    return `${this.buckets.spread(`${limiter} ${key}`, OVERFLOW_COUNTS)}`;
  }
}

const applyOfMemory = Memory.prototype.apply;

/** The answer for units that were not counted, and so cannot be given back. */
function uncounted<A extends Answer>(answer: A): A {
  return { ...answer, provisional: true };
}
