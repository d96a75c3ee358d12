/**
 * The steps of a shaper's queue, a bucket whose takers may wait. If you change them, also change the same code in Lua:
 * packages/redis/src/algorithms/queue/queue.lua.
 */

import { mulDiv } from '../../base/exact.js';
import type { Ask, QueueAnswer } from '../../contract/ask.js';
import type { QueueRule } from '../../contract/rule.js';
import { givenBack } from '../receipt.js';

/** The longest pause: 24 hours. If more than this is left of a pause, the clock went back after it was set. */
export const MAX_HOLD_US: number = 86_400_000_000;

export interface QueueState {
  dirty: boolean;
  /** The instant at which the bucket is full again: `us + num / den`. */
  us: number;
  num: number;
  den: number;
  /**
   * The longest `spanUs` of the rules that charged this queue. `us` may be this much later than now or the end of a
   * pause. If it is later, the clock went back.
   */
  spanUs: number;
  pauseUs: number;
}

export function noQueue(): QueueState {
  return { dirty: false, us: 0, num: 0, den: 1, spanUs: 0, pauseUs: 0 };
}

/** When the state expires. It then equals the state of an unused key. */
export function restOf({ us, num, pauseUs }: QueueState): number {
  return Math.max(num > 0 ? us + 1 : us, pauseUs);
}

/**
 * Applies `ask` to `state`, in place, and answers it. See {@link stepBucket} for `charge`. If you change this, also
 * change `takeWhole` in queue-shelf.ts.
 */
export function stepQueue(
  ask: Ask<QueueRule>,
  state: QueueState,
  nowUs: number,
  charge: boolean,
): QueueAnswer {
  const allowed = change(ask, state, nowUs, charge);
  const { us, num, pauseUs } = state;
  const pausedUntilUs = pauseUs > nowUs ? pauseUs : 0;
  return { allowed, nowUs, tatUs: us, tatNum: num, pausedUntilUs };
}

function change(ask: Ask<QueueRule>, state: QueueState, nowUs: number, charge: boolean): boolean {
  const { op, rule, cost, holdUs = 0, startUs = 0 } = ask;
  if (op === 'reset') {
    resetState(state, nowUs);
    state.dirty = true;
    return true;
  }
  const wasAhead = view(rule, state, nowUs);
  if (op === 'put') return put(ask, state, nowUs);
  if (op === 'hold') {
    if (holdUs > 0) holdQueue(rule, state, nowUs + Math.min(holdUs, MAX_HOLD_US));
    return true;
  }
  if (cost === 0) return true;

  const latestUs = nowUs + rule.tolUs + rule.waitUs;
  const from = startUs > state.us ? { us: startUs, num: 0 } : state;
  const after = afterCharge(rule, from, cost);
  const fits = !isLater(after, latestUs, rule.tolNum);
  const passes = cost <= rule.burst && fits;
  if (op === 'take' && !(passes && charge))
    state.dirty = wasAhead; // a repaired state is stored although nothing is charged
  else if (op !== 'look') {
    if (fits) setTo(state, after.us, after.num);
    else raise(state, latestUs, rule.tolNum);
    markChanged(rule, state);
  }
  return passes;
}

/**
 * Prepares `state` for the rule: gives its instant the rule's denominator, and raises the instant to now or to the end
 * of a pause. Returns whether the clock went back so far that the state was impossible.
 */
function view(rule: QueueRule, state: QueueState, nowUs: number): boolean {
  if (restOf(state) <= nowUs) resetState(state, nowUs);
  if (state.den !== rule.den) {
    // Rounded up: rounding down could start a unit too early.
    if (state.num > 0) setTo(state, state.us + 1, 0);
    state.den = rule.den;
  }
  const wasAhead = cut(state, nowUs);
  if (state.pauseUs > nowUs) raise(state, state.pauseUs + rule.leadUs, rule.leadNum);
  return wasAhead;
}

/**
 * Moves the end of the pause back to at most 24 hours from now, and the instant to at most `spanUs` after the later of
 * now and that end. Returns whether either was moved; if so, the clock went back.
 */
function cut(state: QueueState, nowUs: number): boolean {
  const { pauseUs } = state;
  state.pauseUs = Math.min(pauseUs, nowUs + MAX_HOLD_US);
  const latestUs = Math.max(nowUs, state.pauseUs) + state.spanUs;
  const isAhead = isLater(state, latestUs, 0);
  if (isAhead) setTo(state, latestUs, 0);
  return isAhead || state.pauseUs < pauseUs;
}

/** Gives back a take only if it is the last one, because the starts of later takes are already decided. */
function put({ rule, cost, receipt }: Ask<QueueRule>, state: QueueState, nowUs: number): boolean {
  if (receipt?.atUs !== state.us || receipt.num !== state.num || !isLater(state, nowUs, 0)) {
    return false;
  }
  const units = givenBack(cost, receipt);
  if (units === 0) return false;
  const refill = mulDiv(units, rule.period, rule.den);
  const borrows = state.num < refill.rest;
  const us = state.us - refill.whole - (borrows ? 1 : 0);
  const num = state.num - refill.rest + (borrows ? rule.den : 0);
  if (us < nowUs) setTo(state, nowUs, 0);
  else setTo(state, us, num);
  if (state.pauseUs > nowUs) raise(state, state.pauseUs + rule.leadUs, rule.leadNum);
  state.dirty = true;
  return true;
}

/** Starts or extends a pause. Units start one by one after it, because the bucket then holds only one unit. */
function holdQueue(rule: QueueRule, state: QueueState, untilUs: number): void {
  state.pauseUs = Math.max(state.pauseUs, untilUs);
  raise(state, state.pauseUs + rule.leadUs, rule.leadNum);
  markChanged(rule, state);
}

function markChanged(rule: QueueRule, state: QueueState): void {
  state.spanUs = Math.max(state.spanUs, rule.spanUs);
  state.dirty = true;
}

interface Instant {
  readonly us: number;
  readonly num: number;
}

function afterCharge({ period, den }: QueueRule, { us, num }: Instant, cost: number): Instant {
  const refill = mulDiv(cost, period, den);
  const sum = num + refill.rest;
  return sum < den
    ? { us: us + refill.whole, num: sum }
    : { us: us + refill.whole + 1, num: sum - den };
}

function isLater(instant: Instant, us: number, num: number): boolean {
  return instant.us > us || (instant.us === us && instant.num > num);
}

function raise(state: QueueState, us: number, num: number): void {
  if (!isLater(state, us, num)) setTo(state, us, num);
}

/** Sets the state of an unused key. It sets each property, because `Object.assign` takes ten times as long. */
function resetState(state: QueueState, nowUs: number): void {
  setTo(state, nowUs, 0);
  state.den = 1;
  state.spanUs = 0;
  state.pauseUs = 0;
}

function setTo(state: QueueState, us: number, num: number): void {
  state.us = us;
  state.num = num;
}
