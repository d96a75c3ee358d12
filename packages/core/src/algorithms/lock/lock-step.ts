/**
 * The steps of a limit with a penalty. If you change them, also change the same code in Lua:
 * packages/redis/src/algorithms/lock/lock.lua.
 */

import type { Ask } from '../../contract/ask.js';
import type { LockRule } from '../../contract/rule.js';
import { givenBack } from '../receipt.js';

export interface LockState {
  dirty: boolean;
  /** When the window ends. Receipts contain it, so a refund reaches only the window that was charged. */
  endUs: number;
  current: number;
  /**
   * The number of locks that are not forgotten yet, including a running one. The next lock has the duration at this
   * index, or the last duration.
   */
  level: number;
  /** When the last lock ended; 0 if none has ended or all are forgotten. */
  endedUs: number;
  /** When the running lock will end; 0 if no lock runs. */
  untilUs: number;
}

export function unusedLock(): LockState {
  return { dirty: false, endUs: 0, current: 0, level: 0, endedUs: 0, untilUs: 0 };
}

export function lockExpiresUs(
  { forgetUs }: LockRule,
  { endUs, current, level, endedUs, untilUs }: LockState,
): number {
  if (untilUs > 0) return untilUs + forgetUs;
  return Math.max(current > 0 ? endUs : 0, level > 0 ? endedUs + forgetUs : 0);
}

/** Applies a step to `state`, in place. See {@link stepBucket} for `charge` and the return value. */
export function stepLock(
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
    if (receipt?.atUs !== state.endUs || state.current === 0) return false;
    const units = givenBack(cost, receipt);
    if (units === 0) return false;
    state.current = Math.max(0, state.current - units);
    // The refunded attempt led to the lock. Without it, there were too few attempts for a lock.
    if (state.untilUs > 0) {
      state.untilUs = 0;
      state.level -= 1;
    }
    state.dirty = true;
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

/**
 * Starts or extends a lock. Raises the level until a lock of this length is allowed, because `advance` shortens longer
 * locks.
 */
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
 * Ends a lock or window whose time has passed, and forgets old locks. If the clock went back so far that the lock or
 * window is impossibly long, shortens it and returns true.
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
