/**
 * The steps of leases on permits. If you change them, also change the same code in Lua:
 * packages/redis/src/algorithms/leases/leases.lua.
 */

import type { Ask, Lease } from '../../contract/ask.js';
import type { LeasesRule } from '../../contract/rule.js';

/** The longest lease: 24 hours. If more than this is left of a lease, the clock went back after it was taken. */
export const MAX_LEASE_US: number = 86_400_000_000;

interface Held {
  readonly expiresUs: number;
  readonly critical: boolean;
}

export interface LeasesState {
  readonly held: Map<string, Held>;
  critical: number;
  minEndUs: number;
  maxEndUs: number;
}

interface LeasesView {
  used: number;
  critical: number;
}

export function noLeases(): LeasesState {
  return { held: new Map(), critical: 0, minEndUs: Infinity, maxEndUs: 0 };
}

/**
 * Applies a step to `state`, in place. See {@link stepBucket} for `charge` and the return value. If the memory store is
 * full, a key may have permits in two counts. `beside` holds the numbers of the other count.
 */
export function stepLeases(
  { op, rule, cost, lease }: Ask<LeasesRule>,
  state: LeasesState,
  nowUs: number,
  charge: boolean,
  beside: LeasesView,
): boolean {
  if (op === 'reset') {
    state.held.clear();
    resetState(state);
    return true;
  }
  expire(state, nowUs);
  const holds = lease !== undefined && state.held.has(lease.id);
  if (op === 'put') {
    const gives = holds && cost > 0;
    if (gives) removeLease(state, lease);
    return gives;
  }

  const critical = state.critical + beside.critical;
  const used = state.held.size + beside.used;
  const hasRoom = used < rule.limit && used - critical < rule.open;
  const passes = cost === 0 || holds || lease?.critical === true || hasRoom;
  if (lease === undefined || cost === 0 || op === 'look') return passes;
  const takes = passes && (op === 'record' || charge);
  if (takes || op === 'take') repair(state, nowUs, rule.leaseUs);
  if (takes) holdLease(state, lease, nowUs + rule.leaseUs);
  return passes;
}

/** Removes expired leases. Checks all of them once the earliest end has passed. */
export function expire(state: LeasesState, nowUs: number): void {
  if (nowUs < state.minEndUs) return;
  state.minEndUs = Infinity;
  for (const [id, { expiresUs, critical }] of state.held) {
    if (expiresUs > nowUs) state.minEndUs = Math.min(state.minEndUs, expiresUs);
    else {
      state.held.delete(id);
      if (critical) state.critical -= 1;
    }
  }
}

/** Shortens impossibly long leases to this rule's length. They result if the clock went back. */
function repair(state: LeasesState, nowUs: number, leaseUs: number): void {
  const latestUs = nowUs + MAX_LEASE_US;
  if (state.maxEndUs <= latestUs) return;
  state.maxEndUs = 0;
  for (const [id, one] of state.held) {
    const expiresUs = one.expiresUs > latestUs ? nowUs + leaseUs : one.expiresUs;
    if (expiresUs !== one.expiresUs) state.held.set(id, { ...one, expiresUs });
    state.minEndUs = Math.min(state.minEndUs, expiresUs);
    state.maxEndUs = Math.max(state.maxEndUs, expiresUs);
  }
}

function removeLease(state: LeasesState, { id }: Lease): void {
  if (state.held.get(id)?.critical) state.critical -= 1;
  state.held.delete(id);
  if (state.held.size === 0) resetState(state);
}

function holdLease(state: LeasesState, lease: Lease, expiresUs: number): void {
  if (state.held.get(lease.id)?.critical) state.critical -= 1;
  state.held.set(lease.id, { expiresUs, critical: lease.critical });
  if (lease.critical) state.critical += 1;
  state.minEndUs = Math.min(state.minEndUs, expiresUs);
  state.maxEndUs = Math.max(state.maxEndUs, expiresUs);
}

function resetState(state: LeasesState): void {
  state.critical = 0;
  state.minEndUs = Infinity;
  state.maxEndUs = 0;
}
