/**
 * The oracle's limits with a penalty. The state has the end of each lock that is not forgotten, in order. Only the last
 * of these locks can still run. If it does, a refund removes it.
 */

import type { LockRule } from '@spillway/core/store';
import { larger, type Machine, smaller } from './machine.js';

interface LockState {
  readonly end: bigint;
  readonly current: bigint;
  readonly locks: readonly bigint[];
  readonly locked: boolean;
}

function last({ locks }: LockState): bigint {
  return locks.at(-1) ?? 0n;
}

function longest({ locksUs }: LockRule, most = Infinity): bigint {
  return locksUs.slice(0, most).map(BigInt).reduce(larger, 0n);
}

function window({ windowUs }: LockRule, locks: readonly bigint[], now: bigint): LockState {
  return { end: now + BigInt(windowUs), current: 0n, locks, locked: false };
}

function locked(view: LockState, end: bigint): LockState {
  const before = view.locked ? view.locks.slice(0, -1) : view.locks;
  return { ...view, locks: [...before, end], locked: true };
}

export const lockMachine: Machine<LockRule, LockState> = {
  shareCount: (a, b) => a.forgetUs === b.forgetUs,

  view(rule, state, now) {
    if (!state) return window(rule, [], now);
    if (state.locked && now < last(state)) {
      return locked(state, smaller(last(state), now + longest(rule, state.locks.length)));
    }
    const past = state.locks.map((end) => smaller(end, now));
    const locks = now < last({ ...state, locks: past }) + BigInt(rule.forgetUs) ? past : [];
    if (state.locked || state.current === 0n || now >= state.end) return window(rule, locks, now);
    const { end } = lockMachine.impossible(rule, state, now) ? window(rule, [], now) : state;
    return { ...state, end, locks };
  },

  impossible(rule, state, now) {
    if (state.locked && now < last(state)) {
      return last(state) - now > longest(rule, state.locks.length);
    }
    return !state.locked && state.current > 0n && state.end - now > 2n * BigInt(rule.windowUs);
  },

  passes: ({ limit }, view, _now, cost) => !view.locked && view.current + cost <= BigInt(limit),

  charge: (_rule, view, _now, cost) => ({ ...view, current: view.current + cost }),

  record({ limit }, view, _now, cost) {
    if (view.locked) return undefined;
    const most = larger(view.current, BigInt(limit));
    return { ...view, current: smaller(view.current + cost, most) };
  },

  reject({ limit, locksUs }, view, now, cost) {
    if (view.locked || cost > BigInt(limit)) return undefined;
    const length = locksUs[view.locks.length] ?? (locksUs.at(-1) as number);
    return locked(view, now + BigInt(length));
  },

  put(_rule, view, _now, cost, receipt) {
    if (!receipt || BigInt(receipt.atUs) !== view.end || view.current === 0n) return undefined;
    const locks = view.locked ? view.locks.slice(0, -1) : view.locks;
    return { ...view, current: larger(0n, view.current - cost), locks, locked: false };
  },

  hold(rule, view, now, holdUs) {
    const end = now + smaller(holdUs, longest(rule));
    if (view.locked && end <= last(view)) return undefined;
    const held = locked(view, end);
    // Adds ended locks until a lock of this length is possible.
    const past = held.locks.slice(0, -1);
    while (now + longest(rule, past.length + 1) < end) past.push(past.at(-1) ?? 0n);
    return { ...held, locks: [...past, end] };
  },

  numbers({ limit }, view, now, cost) {
    const room = view.locked ? 0n : BigInt(limit) - view.current;
    const left = (view.locked ? last(view) : view.end) - now;
    let retryUs: bigint | null = 0n;
    if (cost > BigInt(limit)) retryUs = null;
    else if (cost > 0n && (view.locked || cost > room)) retryUs = left;
    const resetUs = view.locked || view.current > 0n ? left : 0n;
    return { used: view.current, remaining: larger(0n, room), retryUs, resetUs };
  },

  answer: (_rule, view, nowUs) => ({
    nowUs,
    endUs: Number(view.end),
    current: Number(view.current),
    untilUs: view.locked ? Number(last(view)) : 0,
  }),

  forgettable(rule, state, now, earlier) {
    const ends = [
      ...(state.current > 0n && !state.locked ? [state.end] : []),
      ...(state.locks.length > 0 ? [last(state) + BigInt(rule.forgetUs)] : []),
    ];
    const expires = ends.reduce(larger, 0n);
    return expires <= now && earlier < expires;
  },
};
