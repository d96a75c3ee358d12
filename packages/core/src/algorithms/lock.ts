/**
 * Limits with a penalty. As text, as in Redis: `end:current:level:ended:until`. If you change the steps, also change
 * them in packages/redis/src/algorithms/lock/lock.lua.
 */

import { checkOptions } from '../base/check-shapes.js';
import { durationBetween } from '../base/checks.js';
import { type Duration, windowToMicroseconds } from '../base/duration.js';
import { mustBe } from '../base/errors.js';
import type { NamesOf } from '../base/option-names.js';
import type { Ask } from '../contract/ask.js';
import type { Numbers } from '../contract/decision.js';
import type { LockAnswer, LockRule, Machine, Penalty, ShelfStep } from '../contract/rule.js';
import { measureWindowed, partOf, ratePolicy } from './decide.js';
import { refund } from './receipt.js';
import { type Expiring, KeyedShelf } from './shelves/keyed-shelf.js';
import { numbersOf, type TextForm } from './stored-count.js';

/** Options of {@link lockFor}. */
export interface LockOptions {
  /** If a key has no lock for this time (1 ms to 400 days), its next lock is as long as the first. Default `'1d'`. */
  readonly forget?: Duration | undefined;
}

const NAMES: NamesOf<LockOptions> = { forget: 1 };

const MOST_LOCKS = 16;

/**
 * The first rejection locks the key: until the lock ends, all requests with a cost above 0 are rejected. Pass the
 * result as the option `penalty`, which implies `fixedWindow` and `anchor: 'first-request'`.
 *
 * - Requests during a lock don't count and don't extend it. After the lock the whole limit is available again.
 * - The n-th lock has the n-th duration, or the last one if there are fewer durations.
 * - If an attempt that led to a lock is refunded, the lock ends and is forgotten. So if `refundIf` refunds successful
 *   logins, a login also ends a lock that another attempt has started meanwhile.
 * - Limits in shadow mode, `peek`, `record`, and costs above the limit start no lock.
 * - A change of the limit, the window or the plan does not end a lock. A reset of the key does.
 *
 * @param durations 1 to 16 durations, each from 1 ms to 400 days
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts run
 * import { createLimiter, lockFor } from '@spillway/core';
 *
 * const penalty = lockFor(['15m', '1h', '1d']);
 * const guesses = createLimiter({ limit: 2, window: '10m', penalty });
 * guesses.consume('ada');
 * guesses.consume('ada').remaining; // 0
 * guesses.consume('ada').retryAfterMs; // 900_000
 * ```
 */
export function lockFor(durations: readonly Duration[], options: LockOptions = {}): Penalty {
  checkOptions(options, 'lockFor()', NAMES);
  if (!Array.isArray(durations) || durations.length === 0 || durations.length > MOST_LOCKS) {
    throw mustBe('lockFor()', "1 to 16 durations, such as ['15m', '1h', '1d']", durations);
  }
  // Unlike `map`, this also checks holes.
  const locksUs = Array.from(durations, (each) => microseconds('a duration of lockFor()', each));
  const forgetUs = microseconds('forget', options.forget ?? '1d');
  return { makeRule: (numbers) => lockRuleFrom(numbers, locksUs, forgetUs) };
}

function microseconds(option: string, value: unknown): number {
  return durationBetween(option, value, '1ms', '400d');
}

function lockRuleFrom(
  options: Parameters<Penalty['makeRule']>[0],
  locksUs: readonly number[],
  forgetUs: number,
): LockRule {
  const { limit, window, algorithm, anchor, burst, overage } = options;
  // A bucket refills all the time, so it would hardly ever lock. Aligned windows would free all keys at once.
  if (algorithm !== undefined && algorithm.name !== 'fixed-window') {
    throw mustBe('algorithm', 'fixedWindow or left out beside penalty', algorithm.name);
  }
  if (anchor !== undefined && anchor !== 'first-request') {
    throw mustBe('anchor', "'first-request' or left out beside penalty", anchor);
  }
  const beside = burst ?? overage;
  if (beside !== undefined) throw mustBe('burst and overage', 'left out beside penalty', beside);
  return makeLockRule(limit, windowToMicroseconds(window as Duration), locksUs, forgetUs);
}

/** A process caches a rejection at most this long, because another process may end the lock by a refund or reset. */
const CACHED_MS = 1_000;

export const lockMachine: Machine = {
  same: (rule: LockRule, other: LockRule) =>
    rule.windowUs === other.windowUs &&
    rule.forgetUs === other.forgetUs &&
    `${rule.locksUs}` === `${other.locksUs}`,
  // Reduces the limit. A longer window would not help, because the whole limit is available again after each lock.
  share: (rule: LockRule, share) => ({ ...rule, limit: partOf(rule.limit, share) }),
  policy: (name, rule: LockRule) => ratePolicy(name, rule),
  declared: ({ limit, windowUs, locksUs, forgetUs }: LockRule) => ({
    algorithm: `lock:${locksUs.map((us) => us / 1000)}:${forgetUs / 1000}`,
    limit,
    windowMs: windowUs / 1000,
  }),
  expiresAfterUs: ({ windowUs, locksUs, forgetUs }: LockRule) =>
    Math.max(windowUs, Math.max(...locksUs) + forgetUs),
  measure: measureLock,
  receipt: ({ endUs }: LockAnswer, units) => ({ atUs: endUs, num: 0, units }),
  heldUs: ({ nowUs, untilUs }: LockAnswer) => Math.max(0, untilUs - nowUs),
  shelf: () => new LockShelf(),
  denials: {
    holdsMs: (_, { retryAfterMs }) =>
      retryAfterMs < Infinity ? Math.min(retryAfterMs, CACHED_MS) : 0,
    write({ endUs, current, untilUs }: LockAnswer, numbers, at) {
      numbers[at] = endUs;
      numbers[at + 1] = current;
      numbers[at + 2] = untilUs;
    },
    read(_, numbers, at, nowUs): LockAnswer {
      const [endUs = 0, current = 0, untilUs = 0] = numbers.subarray(at, at + 3);
      return { allowed: false, nowUs, endUs, current, untilUs };
    },
  },
};

/**
 * Makes the rule of a limit with a penalty. The numbers must have been checked as for `makeRule`. There must be at
 * least one lock.
 *
 * @example
 * ```ts run
 * import { measure, makeLockRule, type Step, stepText } from '@spillway/core/store';
 *
 * const rule = makeLockRule(1, 60_000_000, [900_000_000], 86_400_000_000);
 * const take: Step = { op: 'take', limiter: 'logins', key: 'ada', rule, cost: 1, binding: true };
 * const first = stepText(undefined, take, 1_767_225_600_000_000, true);
 * const second = stepText(first.text, take, 1_767_225_600_000_000, true);
 * measure(rule, second.answer, 1).retryAfterMs; // 900_000
 * ```
 */
export function makeLockRule(
  limit: number,
  windowUs: number,
  locksUs: readonly number[],
  forgetUs: number,
): LockRule {
  // The code omits window and locks: otherwise changing them would end running locks.
  const code = `x${forgetUs.toString(36)}`;
  return { machine: 'lock', logic: lockMachine, code, limit, windowUs, locksUs, forgetUs };
}

function measureLock({ limit }: LockRule, answer: LockAnswer, cost: number): Numbers {
  const { nowUs, endUs, current, untilUs } = answer;
  const isLocked = untilUs > 0;
  const leftMs = ((isLocked ? untilUs : endUs) - nowUs) / 1000;
  return measureWindowed(limit, current, cost, leftMs, isLocked);
}

interface LockState {
  dirty: boolean;
  /** When the window ends. Receipts contain it, so a refund reaches only the window that was charged. */
  endUs: number;
  current: number;
  /**
   * The number of locks that are not forgotten yet, including a running one. The next lock has the duration at this
   * index, or the last duration. A long `hold` raises the number further.
   */
  level: number;
  /** When the last lock ended; 0 if none has ended or all are forgotten. */
  endedUs: number;
  /** When the running lock will end; 0 if no lock runs. */
  untilUs: number;
}

function unusedLock(): LockState {
  return { dirty: false, endUs: 0, current: 0, level: 0, endedUs: 0, untilUs: 0 };
}

function expiresAtUs(
  { endUs, current, level, endedUs, untilUs }: LockState,
  { forgetUs }: LockRule,
): number {
  if (untilUs > 0) return untilUs + forgetUs;
  return Math.max(current > 0 ? endUs : 0, level > 0 ? endedUs + forgetUs : 0);
}

function lockAnswer(state: LockState, nowUs: number, allowed: boolean): LockAnswer {
  const { endUs, current, untilUs } = state;
  return { allowed, nowUs, endUs, current, untilUs };
}

/** Applies a step to `state`, in place. See {@link stepBucket} for `charge` and the return value. */
function stepLock(
  { op, rule, cost, receipt, holdUs = 0, binding }: LockAsk,
  state: LockState,
  nowUs: number,
  charge: boolean,
): boolean {
  const wasAhead = advance(rule, state, nowUs);
  if (op === 'reset') {
    Object.assign(state, unusedLock(), { dirty: true, endUs: nowUs + rule.windowUs });
    return true;
  }
  if (op === 'put') {
    if (receipt?.atUs !== state.endUs || !refund(state, cost, receipt)) return false;
    // The refunded attempt led to the lock. Without it, there were too few attempts for a lock.
    if (state.untilUs > 0) {
      state.untilUs = 0;
      state.level -= 1;
    }
    return true;
  }
  if (op === 'hold') {
    const untilUs = nowUs + Math.min(holdUs, Math.max(...rule.locksUs));
    if (untilUs > Math.max(nowUs, state.untilUs)) lock(rule, state, nowUs, untilUs);
    return true;
  }
  if (cost === 0) return true;

  const { limit, locksUs } = rule;
  const isLocked = state.untilUs > 0;
  const passes = !isLocked && state.current + cost <= limit;
  if (op === 'take') state.dirty = wasAhead; // a repaired state is stored although nothing is charged
  if (!isLocked && (op === 'record' || (op === 'take' && passes && charge))) {
    state.current = Math.min(state.current + cost, Math.max(state.current, limit));
    state.dirty = true;
  } else if (op === 'take' && binding && !passes && !isLocked && cost <= limit) {
    // The lock starts even if other steps of the group are rejected too.
    const lengthUs = locksUs[Math.min(state.level, locksUs.length - 1)] as number;
    lock(rule, state, nowUs, nowUs + lengthUs);
  }
  return passes;
}

type LockAsk = Pick<Ask<LockRule>, 'op' | 'rule' | 'cost' | 'receipt' | 'holdUs' | 'binding'>;

/** Starts or extends a lock, at a level that allows its length, because `advance` shortens longer locks. */
function lock(rule: LockRule, state: LockState, nowUs: number, untilUs: number): void {
  if (state.untilUs === 0) state.level += 1;
  while (nowUs + longestUs(rule, state) < untilUs) state.level += 1;
  state.untilUs = untilUs;
  state.dirty = true;
}

function longestUs({ locksUs }: LockRule, { level }: LockState): number {
  return Math.max(0, ...locksUs.slice(0, level));
}

/**
 * Ends a lock or window whose time has passed, and forgets old locks. If the lock or window is too long for the rule,
 * shortens it and returns true. Then the clock went back, or the rule now has a shorter lock or window.
 */
function advance(rule: LockRule, state: LockState, nowUs: number): boolean {
  const { windowUs, forgetUs } = rule;
  if (state.untilUs > nowUs) {
    const mostUs = nowUs + longestUs(rule, state);
    if (state.untilUs <= mostUs) return false;
    state.untilUs = mostUs;
    return true;
  }
  if (state.untilUs > 0) {
    state.endedUs = state.untilUs;
    state.untilUs = 0;
    state.current = 0;
  }
  if (state.level > 0) state.endedUs = Math.min(state.endedUs, nowUs);
  if (nowUs >= state.endedUs + forgetUs) {
    state.level = 0;
    state.endedUs = 0;
  }
  const wasAhead = state.current > 0 && state.endUs - nowUs > 2 * windowUs;
  if (nowUs >= state.endUs) state.current = 0;
  if (state.current === 0 || wasAhead) state.endUs = nowUs + windowUs;
  return wasAhead;
}

type LockEntry = LockState & Expiring;

const UNUSED: LockState = /* @__PURE__ */ unusedLock();

class LockShelf extends KeyedShelf<LockRule, LockEntry> {
  /** A copy of the key's state, which a step changes. It is stored only if it is dirty. */
  private readonly working = unusedLock();

  override step(step: ShelfStep<LockRule, LockEntry>): LockAnswer {
    const { nowUs, charge, mayGrow, count, other } = step;
    // A shared count is never locked. Otherwise a flood of new keys would lock out all new keys for a long time.
    const ask = mayGrow ? step.ask : { ...step.ask, binding: false, holdUs: 0 };
    const { working: state } = this;
    copy(count ?? other ?? UNUSED, state);
    state.dirty = false;
    const allowed = stepLock(ask, state, nowUs, charge);
    // Another key may have started the shared window. Ending it later may be too strict, but is never too lax.
    const isShared = !mayGrow || (other !== undefined && !count);
    if (isShared && state.dirty) {
      state.endUs = Math.max(state.endUs, nowUs + ask.rule.windowUs);
    }
    if (state.dirty) this.keep(ask, count, state);
    return lockAnswer(state, nowUs, allowed);
  }

  override expiresAtUs({ forgetUs }: LockRule, { endUs, untilUs }: LockAnswer): number {
    return Math.max(endUs, untilUs + forgetUs);
  }

  private keep(ask: Ask<LockRule>, stored: LockEntry | undefined, state: LockState): void {
    if (ask.op === 'reset') {
      this.delete(ask);
      return;
    }
    const expiresUs = expiresAtUs(state, ask.rule);
    if (stored) {
      copy(state, stored);
      stored.expiresUs = expiresUs;
      return;
    }
    const { endUs, current, level, endedUs, untilUs } = state;
    // Written property by property: with a spread of `state`, each key would take 480 bytes instead of 180.
    this.set(ask, { dirty: false, endUs, current, level, endedUs, untilUs, expiresUs });
  }
}

function copy(from: LockState, to: LockState): void {
  to.endUs = from.endUs;
  to.current = from.current;
  to.level = from.level;
  to.endedUs = from.endedUs;
  to.untilUs = from.untilUs;
}

const FORM = /^(\d+):(\d+):(\d+):(\d+):(\d+)$/;

export const lockForm: TextForm<LockState> = {
  unused: unusedLock,
  read(text) {
    const [endUs = 0, current = 0, level = 0, endedUs = 0, untilUs = 0] = numbersOf(text, FORM);
    return { dirty: false, endUs, current, level, endedUs, untilUs };
  },
  step: (ask: Ask<LockRule>, state, nowUs, charge) =>
    lockAnswer(state, nowUs, stepLock(ask, state, nowUs, charge)),
  expiresUs: expiresAtUs,
  text: ({ endUs, current, level, endedUs, untilUs }) =>
    `${endUs}:${current}:${level}:${endedUs}:${untilUs}`,
};
