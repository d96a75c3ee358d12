/**
 * Window counters, fixed, anchored and sliding: pure functions that change their state (see docs/algorithms.md;
 * packages/redis/src/algorithms/window/window.lua does the same in Lua).
 */

import { productAtMost } from '../../base/exact.js';
import type { Ask } from '../../contract/ask.js';
import type { WindowRule } from '../../contract/rule.js';
import { givenBack } from '../receipt.js';

/** Counts of the newest window that was charged and of the window before it. */
export interface WindowState {
  /** True if the caller must store this state. */
  dirty: boolean;
  startUs: number;
  current: number;
  previous: number;
}

/** Does what is asked to `state`, in place; see {@link stepBucket} for `charge` and the return value. */
export function stepWindow(
  { op, rule, cost, receipt }: Pick<Ask<WindowRule>, 'op' | 'rule' | 'cost' | 'receipt'>,
  state: WindowState,
  nowUs: number,
  charge: boolean,
): boolean {
  const wasAhead = roll(rule, state, nowUs);
  if (op === 'reset') {
    state.dirty = true;
    state.startUs = startFor(rule, nowUs);
    state.current = 0;
    state.previous = 0;
    return true;
  }
  if (op === 'put') {
    if (receipt?.atUs !== state.startUs || state.current === 0) return false;
    const units = givenBack(cost, receipt);
    if (units === 0) return false;
    state.current = Math.max(0, state.current - units);
    state.dirty = true;
    return true;
  }
  if (cost === 0) return true;

  const { limit, windowUs } = rule;
  const room = limit - state.current - cost;
  const leftUs = windowUs - Math.max(0, nowUs - state.startUs);
  // The products may need BigInt, so they are calculated only where the counts alone do not decide.
  const passes =
    room >= 0 && (state.previous <= room || productAtMost(state.previous, leftUs, room, windowUs));
  if (op === 'record' || (op === 'take' && passes && charge)) {
    state.current = Math.min(state.current + cost, Math.max(state.current, limit));
    state.dirty = true;
  } else if (op === 'take') {
    state.dirty = wasAhead; // A state that was repaired is stored, though nothing is charged.
  }
  return passes;
}

/** The start of the window that a charge at `nowUs` would begin. */
function startFor({ windowUs, kind }: WindowRule, nowUs: number): number {
  return kind === 'anchored' ? nowUs : nowUs - (nowUs % windowUs);
}

/**
 * Moves the state to the window of now. Returns whether the clock went back by more than a window since it was stored.
 */
function roll(rule: WindowRule, state: WindowState, nowUs: number): boolean {
  const { windowUs, kind } = rule;
  const ageUs = nowUs - state.startUs;
  // Nearly always; then the start of this window, a slow division, need not be calculated.
  if (kind !== 'anchored' && ageUs >= 0 && ageUs < windowUs) {
    if (kind !== 'sliding') state.previous = 0;
    return false;
  }
  const startUs = startFor(rule, nowUs);
  const wasAhead = -ageUs > windowUs;
  // An anchored window without units is none: the next unit begins another.
  const isOver =
    kind === 'anchored'
      ? state.current === 0 || nowUs >= state.startUs + windowUs
      : startUs > state.startUs;
  if (isOver) {
    state.previous = startUs === state.startUs + windowUs ? state.current : 0;
    state.current = 0;
  }
  if (isOver || wasAhead) state.startUs = startUs;
  if (kind !== 'sliding') state.previous = 0;
  return wasAhead;
}
