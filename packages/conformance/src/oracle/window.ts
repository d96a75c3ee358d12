/**
 * The oracle's fixed window (aligned to the epoch, or anchored) and sliding window counter. The state is the start of
 * the newest window with a charge, the count of that window, and the count of the window before.
 */

import type { WindowRule } from '@spillway/core/store';
import { Fraction } from './fraction.js';
import { larger, leastWait, type Machine, smaller } from './machine.js';

interface WindowState {
  readonly start: bigint;
  readonly current: bigint;
  readonly previous: bigint;
}

function aligned(rule: WindowRule, now: bigint): bigint {
  return now - (now % BigInt(rule.windowUs));
}

function roll(rule: WindowRule, state: WindowState | undefined, now: bigint): WindowState {
  const window = BigInt(rule.windowUs);
  if (rule.kind === 'anchored') {
    const counts = state && state.current > 0n && now < state.start + window;
    if (!counts) return { start: now, current: 0n, previous: 0n };
    return state.start - now > window ? { ...state, start: now } : state;
  }
  const start = aligned(rule, now);
  if (!state || start > state.start + window) return { start, current: 0n, previous: 0n };
  if (start === state.start + window) return { start, current: 0n, previous: state.current };
  return state.start - now > window ? { ...state, start } : state;
}

/** How many units of the previous window still count at `now`, unrounded. */
function weight(rule: WindowRule, view: WindowState, now: bigint): Fraction {
  const elapsed = larger(now - view.start, 0n);
  return Fraction.of(view.previous * (BigInt(rule.windowUs) - elapsed), rule.windowUs);
}

export const windowMachine: Machine<WindowRule, WindowState> = {
  shareCount: (a, b) => a.windowUs === b.windowUs && a.kind === b.kind,

  view(rule, state, now) {
    const rolled = roll(rule, state, now);
    return rule.kind === 'sliding' ? rolled : { ...rolled, previous: 0n };
  },

  impossible(rule, state, now) {
    return state.start - now > BigInt(rule.windowUs);
  },

  passes(rule, view, now, cost) {
    const after = weight(rule, view, now).plus(Fraction.of(view.current + cost));
    return after.atMost(Fraction.of(rule.limit));
  },

  charge(_rule, view, _now, cost) {
    return { ...view, current: view.current + cost };
  },

  record(rule, view, _now, cost) {
    const most = larger(view.current, BigInt(rule.limit));
    return { ...view, current: smaller(view.current + cost, most) };
  },

  put(_rule, view, _now, cost, receipt) {
    if (!receipt) return undefined;
    if (BigInt(receipt.atUs) !== view.start || view.current === 0n) return undefined;
    return { ...view, current: larger(0n, view.current - cost) };
  },

  numbers(rule, view, now, cost) {
    const limit = BigInt(rule.limit);
    const window = BigInt(rule.windowUs);
    const weighed = weight(rule, view, now);
    const room = Fraction.of(limit - view.current).minus(weighed);
    let resetUs = 0n;
    if (view.current > 0n)
      resetUs = view.start + (rule.kind === 'sliding' ? 2n : 1n) * window - now;
    else if (view.previous > 0n) resetUs = view.start + window - now;

    const passesAfter = (waitUs: bigint): boolean => {
      const then = now + waitUs;
      return windowMachine.passes(rule, windowMachine.view(rule, view, then), then, cost);
    };
    const allGone = larger(view.start, now) + 2n * window - now;
    let retryUs: bigint | null = 0n;
    if (cost > limit) retryUs = null;
    else if (cost > 0n) retryUs = leastWait(allGone, passesAfter);
    const used = view.current + weighed.ceil();
    return { used, remaining: larger(0n, room.floor()), retryUs, resetUs };
  },

  answer(_rule, view, nowUs) {
    return {
      nowUs,
      startUs: Number(view.start),
      current: Number(view.current),
      previous: Number(view.previous),
    };
  },

  forgettable(rule, state, now, earlier) {
    if (rule.kind === 'anchored') {
      const end = state.start + BigInt(rule.windowUs);
      return state.current > 0n && end <= now && earlier < end;
    }
    const here = aligned(rule, now);
    const rolledOn = state.start < here && aligned(rule, earlier) < here;
    return rolledOn || state.current === 0n;
  },
};
