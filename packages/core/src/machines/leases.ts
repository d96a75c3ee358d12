/** Leases on permits: pure steps on their state (docs/algorithms.md; twin: packages/redis/src/lua/leases.lua). */

import type { LeasesRule } from '../rule.js';
import type { Lease, Op } from '../store.js';

interface Held {
  readonly expiresUs: number;
  readonly critical: boolean;
}

/** Who holds permits. */
export interface LeasesState {
  /** By id, the soonest to expire first; what has expired stays until a grant purges it. */
  held: Map<string, Held>;
  /** How many of them are critical. */
  critical: number;
  /** None of them expires later. */
  lastUs: number;
}

/** What a step found, beside its verdict. */
export interface LeasesView {
  used: number;
  critical: number;
}

/** The state of a key that was never used. */
export function noLeases(): LeasesState {
  return { held: new Map(), critical: 0, lastUs: 0 };
}

/**
 * Does `op` to `state`, in place; see {@link stepBucket} for `charge` and the return value. `view` receives the numbers
 * after the step.
 */
export function stepLeases(
  rule: LeasesRule,
  state: LeasesState,
  op: Op,
  cost: number,
  lease: Lease | undefined,
  nowUs: number,
  charge: boolean,
  view: LeasesView,
): boolean {
  if (op === 'reset') Object.assign(state, noLeases());
  count(state, nowUs, view);
  if (op === 'reset') return true;

  const own = lease && state.held.get(lease.id);
  const holds = own !== undefined && own.expiresUs > nowUs;
  if (op === 'put') {
    const gives = holds && cost > 0;
    if (gives) {
      remove(state, lease as Lease);
      count(state, nowUs, view);
    }
    return gives;
  }

  const hasRoom = view.used < rule.limit && view.used - view.critical < rule.open;
  const passes = cost === 0 || holds || lease?.critical === true || hasRoom;
  if (lease && passes && cost > 0 && (op === 'record' || (op === 'take' && charge))) {
    purge(state, nowUs);
    clamp(state, nowUs + rule.leaseUs);
    hold(state, lease, nowUs + rule.leaseUs);
    count(state, nowUs, view);
  } else if (op === 'take') {
    clamp(state, nowUs + rule.leaseUs);
  }
  return passes;
}

/** Those that have not expired: all but a few at the front. */
function count(state: LeasesState, nowUs: number, view: LeasesView): void {
  let used = state.held.size;
  let { critical } = state;
  for (const one of state.held.values()) {
    if (one.expiresUs > nowUs) break;
    used -= 1;
    if (one.critical) critical -= 1;
  }
  view.used = used;
  view.critical = critical;
}

function purge(state: LeasesState, nowUs: number): void {
  for (const [id, one] of state.held) {
    if (one.expiresUs > nowUs) break;
    state.held.delete(id);
    if (one.critical) state.critical -= 1;
  }
}

/** Cuts leases that no holder can have: the clock went back, or leases were longer once. */
function clamp(state: LeasesState, latestUs: number): void {
  if (state.lastUs <= latestUs) return;
  for (const [id, one] of state.held) {
    if (one.expiresUs > latestUs) state.held.set(id, { ...one, expiresUs: latestUs });
  }
  state.lastUs = latestUs;
}

function remove(state: LeasesState, { id }: Lease): void {
  if (state.held.get(id)?.critical) state.critical -= 1;
  state.held.delete(id);
}

function hold(state: LeasesState, lease: Lease, expiresUs: number): void {
  remove(state, lease);
  state.held.set(lease.id, { expiresUs, critical: lease.critical });
  if (lease.critical) state.critical += 1;
  // Clamped before, so that none expires later: the newest comes last.
  state.lastUs = expiresUs;
}
