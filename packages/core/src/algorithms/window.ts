/**
 * Fixed, anchored and sliding windows. As text, as in Redis: `start:current:previous`. If you change the steps, also
 * change them in packages/redis/src/algorithms/window/window.lua.
 */

import { mulDiv, productAtMost } from '../base/exact.js';
import type { Ask } from '../contract/ask.js';
import type { Numbers } from '../contract/decision.js';
import type { Machine, Shelf, ShelfStep, WindowAnswer, WindowRule } from '../contract/rule.js';
import { ratePolicy, windowOf } from './decide.js';
import { refund } from './receipt.js';
import { KeySlots } from './shelves/flat-table.js';
import { numbersOf, type TextForm } from './stored-count.js';

export const windowMachine: Machine = {
  same: (rule: WindowRule, other: WindowRule) =>
    rule.windowUs === other.windowUs && rule.kind === other.kind,
  share: ({ limit, windowUs, kind }: WindowRule, share) =>
    makeWindowRule(limit, windowOf(windowUs, share), kind),
  soften: (rule: WindowRule) => ({ ...rule, limit: MOST_COUNTED }),
  policy: (name, rule: WindowRule) => ratePolicy(name, rule),
  declared: ({ limit, windowUs, kind }: WindowRule) => ({
    algorithm: NAMES[kind],
    limit,
    windowMs: windowUs / 1000,
  }),
  expiresAfterUs: ({ windowUs }: WindowRule) => 2 * windowUs,
  measure: measureWindow,
  receipt: ({ startUs }: WindowAnswer, units) => ({ atUs: startUs, num: 0, units }),
  shelf: () => new WindowShelf(),
  denials: {
    holdsMs: (_, { retryAfterMs }) => retryAfterMs,
    write({ startUs, current, previous }: WindowAnswer, numbers, at) {
      numbers[at] = startUs;
      numbers[at + 1] = current;
      numbers[at + 2] = previous;
    },
    /** Moves the answer to the window of `nowUs`, which may be later than the cached one. */
    read(rule: WindowRule, numbers, at, nowUs): WindowAnswer {
      const state = {
        dirty: false,
        startUs: numbers[at] as number,
        current: numbers[at + 1] as number,
        previous: numbers[at + 2] as number,
      };
      stepWindow({ op: 'look', rule, cost: 1 }, state, nowUs, false);
      return windowAnswer(state, nowUs, false);
    },
  },
};

/** The highest count that fits into a slot of the memory store. */
const MOST_COUNTED: number = 2 ** 32 - 1;

const NAMES: Readonly<Record<WindowRule['kind'], string>> = {
  fixed: 'fixed-window',
  anchored: 'fixed-window:first-request',
  sliding: 'sliding-window-counter',
};

export function makeWindowRule(
  limit: number,
  windowUs: number,
  kind: WindowRule['kind'],
): WindowRule {
  const code = `${kind.charAt(0)}${windowUs.toString(36)}`;
  return { machine: 'window', logic: windowMachine, code, limit, windowUs, kind };
}

function measureWindow(rule: WindowRule, answer: WindowAnswer, cost: number): Numbers {
  const { limit, windowUs } = rule;
  const { startUs, current, previous, nowUs } = answer;
  const left = windowUs - Math.max(0, nowUs - startUs);
  const weighed = mulDiv(previous, left, windowUs);
  const used = current + weighed.whole + (weighed.rest > 0 ? 1 : 0);
  const endUs = startUs + windowUs;

  let resetUs = 0;
  if (current > 0) resetUs = (rule.kind === 'sliding' ? endUs + windowUs : endUs) - nowUs;
  else if (previous > 0) resetUs = endUs - nowUs;
  return {
    used,
    remaining: Math.max(0, limit - used),
    retryAfterMs:
      cost > limit ? Infinity : Math.max(0, passesAtUs(rule, answer, cost) - nowUs) / 1000,
    resetMs: resetUs / 1000,
  };
}

/** The first instant at which `cost` passes if no other requests arrive; in the past if it passes now. */
function passesAtUs(rule: WindowRule, answer: WindowAnswer, cost: number): number {
  const { limit, windowUs } = rule;
  const { startUs, current, previous } = answer;
  const room = limit - current - cost;
  if (cost === 0 || (room >= 0 && previous <= room)) return 0;
  if (room >= 0) return startUs + fadesAfterUs(previous, room, windowUs);
  // The cost doesn't pass in this window. In the next one, this window counts as the previous one, with decreasing
  // weight.
  const fadesUs = rule.kind === 'sliding' ? fadesAfterUs(current, limit - cost, windowUs) : 0;
  return startUs + windowUs + fadesUs;
}

/** Microseconds from the start of a window until the `count` of the previous window weighs at most `room` units. */
function fadesAfterUs(count: number, room: number, windowUs: number): number {
  return count <= room ? 0 : windowUs - mulDiv(room, windowUs, count).whole;
}

interface WindowState {
  dirty: boolean;
  startUs: number;
  current: number;
  previous: number;
}

function windowAnswer(state: WindowState, nowUs: number, allowed: boolean): WindowAnswer {
  const { startUs, current, previous } = state;
  return { allowed, nowUs, startUs, current, previous };
}

/** Applies a step to `state`, in place. See {@link stepBucket} for `charge` and the return value. */
function stepWindow(
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
  if (op === 'put') return receipt?.atUs === state.startUs && refund(state, cost, receipt);
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

/** Moves to the current window. Returns whether the clock went back by more than a window. */
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

/**
 * Windows in memory. The time of a slot is the last instant at which its window may count: the start of the window plus
 * two window lengths, minus one microsecond. The start follows from this time, because all rules with the same code
 * have the same window length. The numbers of a slot are the current and the previous count.
 */
class WindowShelf implements Shelf<WindowRule, WindowState> {
  readonly grows = false;
  private readonly keys = new KeySlots(2);
  private readonly table = this.keys.table;
  private readonly state = unusedWindow();
  private slot = -1;

  get size(): number {
    return this.table.size;
  }

  find({ limiter, rule, key }: Ask<WindowRule>, nowUs: number): WindowState | undefined {
    const { state, table } = this;
    const slot = this.keys.findSlot(limiter, rule, key, nowUs);
    this.slot = slot;
    if (slot < 0) return undefined;
    state.startUs = table.timeAt(slot) + 1 - 2 * rule.windowUs;
    state.current = table.numberAt(slot, 0);
    state.previous = table.numberAt(slot, 1);
    return state;
  }

  step(step: ShelfStep<WindowRule, WindowState>): WindowAnswer {
    const { ask, nowUs, charge, mayGrow, count, other } = step;
    const { op, rule } = ask;
    const { state } = this;
    state.dirty = false;
    if (!count) {
      state.startUs = other ? other.startUs : 0;
      state.current = other ? other.current : 0;
      state.previous = other ? other.previous : 0;
    }
    const allowed = stepWindow(ask, state, nowUs, charge);
    // Another key may have started the shared window. Moving its start to now may be too strict, but is never too lax.
    const isShared = !mayGrow || (other !== undefined && !count);
    if (isShared && state.dirty && rule.kind === 'anchored' && op !== 'reset') {
      state.startUs = Math.max(state.startUs, nowUs);
    }
    if (state.dirty && (count || op !== 'reset')) {
      const at = count ? this.slot : this.keys.addSlot(nowUs);
      this.table.setTime(at, op === 'reset' ? 0 : state.startUs + 2 * rule.windowUs - 1);
      this.table.setNumber(at, 0, state.current);
      this.table.setNumber(at, 1, state.previous);
    }
    return windowAnswer(state, nowUs, allowed);
  }

  expiresAtUs({ windowUs }: WindowRule, { startUs }: WindowAnswer): number {
    return startUs + 2 * windowUs;
  }

  reclaim(nowUs: number): void {
    this.table.reclaim(nowUs);
  }
}

const FORM = /^(\d+):(\d+):(\d+)$/;

function unusedWindow(): WindowState {
  return { dirty: false, startUs: 0, current: 0, previous: 0 };
}

export const windowForm: TextForm<WindowState> = {
  unused: unusedWindow,
  read(text) {
    const [startUs = 0, current = 0, previous = 0] = numbersOf(text, FORM);
    return { dirty: false, startUs, current, previous };
  },
  step: (ask: Ask<WindowRule>, state, nowUs, charge) =>
    windowAnswer(state, nowUs, stepWindow(ask, state, nowUs, charge)),
  expiresUs: ({ startUs }, { kind, windowUs }: WindowRule) =>
    startUs + (kind === 'sliding' ? 2 * windowUs : windowUs),
  text: ({ startUs, current, previous }) => `${startUs}:${current}:${previous}`,
};
