/**
 * Leases on permits. If you change the steps, also change them in packages/redis/src/algorithms/leases/leases.lua.
 *
 * As text: the format mark `1`, then a JSON list. Each lease has its id, its end (microseconds since the epoch), and 1
 * if critical, otherwise 0. Example: `1[["a1b2",1767225660000000,0]]`.
 */

import type { Ask, Lease } from '../contract/ask.js';
import type { Numbers } from '../contract/decision.js';
import type { LeasesAnswer, LeasesRule, Machine, ShelfStep } from '../contract/rule.js';
import { partOf } from './decide.js';
import { type Expiring, KeyedShelf } from './shelves/keyed-shelf.js';
import { isWritten, type TextForm, unknownFormat, wholeNumber } from './stored-count.js';
import { permitUpkeep } from './upkeep/permits.js';

export const leasesMachine: Machine = {
  upkeep: permitUpkeep,
  same: (rule: LeasesRule, other: LeasesRule) =>
    rule.open === other.open && rule.leaseUs === other.leaseUs,
  share(rule: LeasesRule, share): LeasesRule {
    const open = Math.min(rule.open, partOf(rule.open, share));
    return { ...rule, limit: partOf(rule.limit, share), open };
  },
  policy: (name, { limit }: LeasesRule) => ({
    name,
    unit: 'concurrent-requests',
    limit,
    windowMs: Infinity,
    burst: limit,
  }),
  declared({ limit, open, leaseUs }: LeasesRule) {
    const reserved = open === limit ? {} : { open };
    return { algorithm: 'concurrency', limit, ...reserved, leaseMs: leaseUs / 1000 };
  },
  expiresAfterUs: ({ leaseUs }: LeasesRule) => leaseUs,
  measure: measureLeases,
  receipt: (_, units) => ({ atUs: 0, num: 0, units }),
  hasIds: true,
  shelf: () => new LeaseShelf(),
};

/**
 * Makes the rule of a concurrency limit: `limit` from 1 to 10^9, `leaseUs` from 1 s to 24 hours in microseconds.
 * `reserve`, 0 to 1 in steps of one millionth, is the share of the limit that only critical holders may use. All others
 * together get at most (1 - reserve) x limit permits, rounded up.
 */
export function makeLeasesRule(limit: number, leaseUs: number, reserve = 0): LeasesRule {
  // Calculated in millionths, because (1 - 0.7) x 10 is slightly more than 3 in floating point.
  const open = Math.ceil((limit * (1_000_000 - Math.round(reserve * 1_000_000))) / 1_000_000);
  return { machine: 'leases', logic: leasesMachine, code: 'p', limit, open, leaseUs };
}

/** `resetMs`, and `retryAfterMs` of a rejection, are NaN: nobody knows when the running requests end. */
function measureLeases(rule: LeasesRule, answer: LeasesAnswer): Numbers {
  const { allowed, used, critical } = answer;
  return {
    used,
    remaining: Math.max(0, Math.min(rule.limit - used, rule.open - (used - critical))),
    retryAfterMs: allowed ? 0 : Number.NaN,
    resetMs: Number.NaN,
  };
}

/** The longest lease: 24 hours. If more than this is left of a lease, the clock went back after it was taken. */
export const MAX_LEASE_US: number = 86_400_000_000;

interface Held {
  readonly expiresUs: number;
  readonly critical: boolean;
}

interface LeasesState {
  readonly held: Map<string, Held>;
  critical: number;
  minEndUs: number;
  maxEndUs: number;
}

interface LeasesView {
  used: number;
  critical: number;
}

function noLeases(): LeasesState {
  return { held: new Map(), critical: 0, minEndUs: Infinity, maxEndUs: 0 };
}

/**
 * Applies a step to `state`, in place. See {@link stepBucket} for `charge` and the return value. If the memory store is
 * full, a key may have permits in two counts. `beside` holds the numbers of the other count.
 */
function stepLeases(
  { op, rule, cost, lease }: Ask<LeasesRule>,
  state: LeasesState,
  nowUs: number,
  charge: boolean,
  beside: LeasesView,
): boolean {
  if (op === 'reset') {
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
function expire(state: LeasesState, nowUs: number): void {
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
  state.held.clear();
  state.critical = 0;
  state.minEndUs = Infinity;
  state.maxEndUs = 0;
}

type LeasesEntry = LeasesState & Expiring;

const NOBODY = { used: 0, critical: 0 };

class LeaseShelf extends KeyedShelf<LeasesRule, LeasesEntry> {
  private kept = 0;

  override get size(): number {
    return this.kept;
  }

  /** Finds the permits of a key, and removes the expired ones. */
  override find(ask: Ask<LeasesRule>, nowUs: number): LeasesEntry | undefined {
    const state = super.find(ask, nowUs);
    if (state) {
      const before = state.held.size;
      expire(state, nowUs);
      this.kept += state.held.size - before;
    }
    return state;
  }

  holds({ held }: LeasesEntry, { lease }: Ask<LeasesRule>): boolean {
    return lease !== undefined && held.has(lease.id);
  }

  override step({
    ask,
    nowUs,
    charge,
    count,
    other,
  }: ShelfStep<LeasesRule, LeasesEntry>): LeasesAnswer {
    const beside = other ? { used: other.held.size, critical: other.critical } : NOBODY;
    const state = count ?? { ...noLeases(), expiresUs: 0 };
    const before = state.held.size;
    const allowed = stepLeases(ask, state, nowUs, charge, beside);
    const { size } = state.held;
    state.expiresUs = state.maxEndUs;
    this.kept += size - before;
    if (size === 0) this.delete(ask);
    else if (!count) this.set(ask, state);
    const critical = state.critical + beside.critical;
    return { allowed, nowUs, used: size + beside.used, critical };
  }

  override expiresAtUs({ leaseUs }: LeasesRule, { nowUs }: LeasesAnswer): number {
    return nowUs + leaseUs;
  }

  protected override evicted({ held }: LeasesEntry): void {
    this.kept -= held.size;
  }
}

export const leasesForm: TextForm<LeasesState & { dirty: boolean }> = {
  unused: () => ({ ...noLeases(), dirty: false }),
  read: (text) => ({ ...leasesOf(text), dirty: false }),
  step(ask: Ask<LeasesRule>, state, nowUs, charge): LeasesAnswer {
    const ahead = state.maxEndUs > nowUs + MAX_LEASE_US;
    const allowed = stepLeases(ask, state, nowUs, charge, NOBODY);
    const acts = ask.op === 'reset' || ask.lease !== undefined;
    state.dirty = acts && isWritten(ask, allowed, charge, ahead);
    return { allowed, nowUs, used: state.held.size, critical: state.critical };
  },
  expiresUs({ held }) {
    let lastUs = 0;
    for (const { expiresUs } of held.values()) lastUs = Math.max(lastUs, expiresUs);
    return lastUs;
  },
  text({ held }) {
    const list = [...held].map(([id, { expiresUs, critical }]) => [
      id,
      expiresUs,
      critical ? 1 : 0,
    ]);
    return `1${JSON.stringify(list)}`;
  },
};

function leasesOf(text: string): LeasesState {
  const state = noLeases();
  for (const [id, end, mark] of listOf(text)) {
    const expiresUs = wholeNumber(end);
    if (typeof id !== 'string' || (mark !== 0 && mark !== 1)) throw unknownFormat();
    if (state.held.has(id)) throw unknownFormat();
    holdLease(state, { id, critical: mark === 1 }, expiresUs);
  }
  return state;
}

function listOf(text: string): readonly (readonly unknown[])[] {
  if (!text.startsWith('1')) throw unknownFormat();
  let list: unknown;
  try {
    list = JSON.parse(text.slice(1));
  } catch {
    throw unknownFormat();
  }
  if (!Array.isArray(list) || !list.every(Array.isArray)) throw unknownFormat();
  return list;
}
