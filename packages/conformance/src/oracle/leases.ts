import type { Lease, LeasesRule } from '@spillway/core/store';
import { larger, type Machine, smaller } from './machine.js';

interface Held {
  readonly id: string;
  readonly expires: bigint;
  readonly critical: boolean;
}

interface LeasesState {
  readonly held: readonly Held[];
  readonly maxRemovedExpiry?: bigint;
}

function live({ held }: LeasesState, now: bigint): readonly Held[] {
  return held.filter(({ expires }) => expires > now);
}

const LONGEST_US = 86_400_000_000n;

/**
 * If the clock went back, a lease may end later than any rule allows. Such a lease is shortened to the lease length of
 * this rule.
 */
function cut(rule: LeasesRule, state: LeasesState, now: bigint): LeasesState {
  const end = now + BigInt(rule.leaseUs);
  const held = state.held.map((one) =>
    one.expires > now + LONGEST_US ? { ...one, expires: end } : one,
  );
  return { ...state, held };
}

function lastOf(held: readonly Held[]): bigint | undefined {
  return held.reduce<bigint | undefined>(
    (last, { expires }) => (last === undefined ? expires : larger(last, expires)),
    undefined,
  );
}

function holdLease(rule: LeasesRule, state: LeasesState, now: bigint, lease: Lease): LeasesState {
  const dead = lastOf(state.held.filter(({ expires }) => expires <= now));
  const others = live(cut(rule, state, now), now).filter(({ id }) => id !== lease.id);
  const held = [...others, { ...lease, expires: now + BigInt(rule.leaseUs) }];
  const maxRemovedExpiry =
    dead === undefined ? state.maxRemovedExpiry : larger(dead, state.maxRemovedExpiry ?? dead);
  return maxRemovedExpiry === undefined ? { held } : { held, maxRemovedExpiry };
}

export const leasesMachine: Machine<LeasesRule, LeasesState> = {
  // A booking counts apart from the permits, by its code.
  shareCount: (a, b) => a.code === b.code,

  view: (_rule, state) => state ?? { held: [] },

  impossible(_rule, state, now) {
    return state.held.some(({ expires }) => expires > now + LONGEST_US);
  },

  repaired: cut,

  passes(rule, view, now, _cost, { lease } = {}) {
    const holders = live(view, now);
    const ordinary = holders.filter(({ critical }) => !critical).length;
    return (
      lease?.critical === true ||
      holders.some(({ id }) => id === lease?.id) ||
      (holders.length < rule.limit && ordinary < rule.open)
    );
  },

  charge(rule, view, now, _cost, { lease }) {
    return lease && holdLease(rule, view, now, lease);
  },

  record(rule, view, now, cost, named) {
    const { lease } = named;
    if (!lease || !leasesMachine.passes(rule, view, now, cost, named)) return undefined;
    return holdLease(rule, view, now, lease);
  },

  put(_rule, view, now, _cost, _receipt, { lease }) {
    const own = live(view, now).find(({ id }) => id === lease?.id);
    return own && { ...view, held: view.held.filter((one) => one !== own) };
  },

  numbers(rule, view, now, _cost, allowed) {
    const holders = live(view, now);
    const ordinary = holders.filter(({ critical }) => !critical).length;
    const room = smaller(BigInt(rule.limit - holders.length), BigInt(rule.open - ordinary));
    return {
      used: BigInt(holders.length),
      remaining: larger(0n, room),
      retryUs: allowed ? 0n : undefined,
      resetUs: undefined,
    };
  },

  answer(_rule, view, nowUs) {
    const holders = live(view, BigInt(nowUs));
    const critical = holders.filter((one) => one.critical).length;
    return { nowUs, used: holders.length, critical };
  },

  forgettable(_rule, state, now, earlier) {
    const dead = lastOf(state.held.filter(({ expires }) => expires <= now));
    const gone =
      dead === undefined ? state.maxRemovedExpiry : larger(dead, state.maxRemovedExpiry ?? dead);
    return gone !== undefined && gone > earlier;
  },
};
