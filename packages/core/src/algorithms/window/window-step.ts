/**
 * The steps of fixed, anchored and sliding windows. If you change them, also change the same code in Lua:
 * packages/redis/src/algorithms/window/window.lua.
 */

import { productAtMost } from '../../base/exact.js';
import type { Ask } from '../../contract/ask.js';
import type { WindowRule } from '../../contract/rule.js';
import { givenBack } from '../receipt.js';

export interface WindowState {
  dirty: boolean;
  startUs: number;
  current: number;
  previous: number;
}

/** Applies a step to `state`, in place. See {@link stepBucket} for `charge` and the return value. */
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
  // The products may need BigInt, so they are calculated only if the counts alone don't decide.
  const passes =
    room >= 0 && (state.previous <= room || productAtMost(state.previous, leftUs, room, windowUs));
  if (op === 'record' || (op === 'take' && passes && charge)) {
    state.current = Math.min(state.current + cost, Math.max(state.current, limit));
    state.dirty = true;
  } else if (op === 'take') {
    state.dirty = wasAhead; // a repaired state is stored although nothing is charged
  }
  return passes;
}

function startFor({ windowUs, kind }: WindowRule, nowUs: number): number {
  return kind === 'anchored' ? nowUs : nowUs - (nowUs % windowUs);
}

/**
 * Moves the state to the current window. Returns whether the clock went back by more than a window since the state was
 * stored.
 */
function roll(rule: WindowRule, state: WindowState, nowUs: number): boolean {
  const { windowUs, kind } = rule;
  const ageUs = nowUs - state.startUs;
  // The usual case. It avoids the slow division for the start of this window.
  if (kind !== 'anchored' && ageUs >= 0 && ageUs < windowUs) {
    if (kind !== 'sliding') state.previous = 0;
    return false;
  }
  const startUs = startFor(rule, nowUs);
  const wasAhead = -ageUs > windowUs;
  // An anchored window without units doesn't count: the next unit starts a new window.
  const hasEnded =
    kind === 'anchored'
      ? state.current === 0 || nowUs >= state.startUs + windowUs
      : startUs > state.startUs;
  if (hasEnded) {
    state.previous = startUs === state.startUs + windowUs ? state.current : 0;
    state.current = 0;
  }
  if (hasEnded || wasAhead) state.startUs = startUs;
  if (kind !== 'sliding') state.previous = 0;
  return wasAhead;
}
