/**
 * Window counters, fixed and sliding: pure steps on their state (docs/algorithms.md; twin:
 * packages/redis/src/lua/window.lua).
 */

import { productAtMost } from '../base/exact.js';
import type { WindowRule } from '../contract/rule.js';
import type { Op, Receipt } from '../contract/store.js';

/** Counts of the newest window charged and of the one before it. */
export interface WindowState {
  /** Set when the stored state must be replaced by this one. */
  dirty: boolean;
  startUs: number;
  current: number;
  previous: number;
}

/** Does `op` to `state`, in place; see {@link stepBucket} for `charge` and the return value. */
export function stepWindow(
  rule: WindowRule,
  state: WindowState,
  op: Op,
  cost: number,
  nowUs: number,
  charge: boolean,
  receipt?: Receipt,
): boolean {
  const wasAhead = roll(rule, state, nowUs);
  if (op === 'reset') {
    state.dirty = true;
    state.startUs = nowUs - (nowUs % rule.windowUs);
    state.current = 0;
    state.previous = 0;
    return true;
  }
  if (op === 'put') {
    if (receipt?.atUs !== state.startUs || cost === 0 || state.current === 0) return false;
    state.current = Math.max(0, state.current - cost);
    state.dirty = true;
    return true;
  }
  if (cost === 0) return true;

  const { limit, windowUs } = rule;
  const room = limit - state.current - cost;
  const leftUs = windowUs - Math.max(0, nowUs - state.startUs);
  // The products, which may need BigInt, only where the count alone does not tell.
  const passes =
    room >= 0 && (state.previous <= room || productAtMost(state.previous, leftUs, room, windowUs));
  if (op === 'record' || (op === 'take' && passes && charge)) {
    state.current = Math.min(state.current + cost, Math.max(state.current, limit));
    state.dirty = true;
  } else if (op === 'take') {
    state.dirty = wasAhead; // a repair, kept though nothing is charged
  }
  return passes;
}

/**
 * Brings the state to the window of now; tells whether the clock has gone back by more than a window since it was
 * stored.
 */
function roll(rule: WindowRule, state: WindowState, nowUs: number): boolean {
  const { windowUs } = rule;
  const alignedUs = nowUs - (nowUs % windowUs);
  const wasAhead = state.startUs - nowUs > windowUs;
  if (alignedUs > state.startUs) {
    state.previous = alignedUs === state.startUs + windowUs ? state.current : 0;
    state.current = 0;
  }
  if (alignedUs > state.startUs || wasAhead) state.startUs = alignedUs;
  if (!rule.sliding) state.previous = 0;
  return wasAhead;
}
