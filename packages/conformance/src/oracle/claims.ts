import type { ClaimsRule } from '@spillway/core/store';
import type { Machine, Named } from './machine.js';

interface ClaimState {
  readonly state: 'free' | 'running' | 'done';
  readonly owner: string;
  readonly ends: bigint;
  readonly note: string;
}

const FREE: ClaimState = { state: 'free', owner: '', ends: 0n, note: '' };

const DAY_US = 86_400_000_000n;

const LONGEST_US = { running: DAY_US, done: 400n * DAY_US };

function isOver({ state, ends }: ClaimState, now: bigint): boolean {
  return state === 'free' || ends <= now;
}

function runs(view: ClaimState, { claim }: Named): boolean {
  return view.state === 'running' && view.owner === claim?.owner;
}

function isOpen(view: ClaimState, named: Named): boolean {
  return view.state === 'free' || runs(view, named);
}

function running({ leaseUs }: ClaimsRule, now: bigint, { claim }: Named): ClaimState | undefined {
  return claim && { state: 'running', owner: claim.owner, ends: now + BigInt(leaseUs), note: '' };
}

export const claimsMachine: Machine<ClaimsRule, ClaimState> = {
  shareCount: () => true,

  view(rule, state = FREE, now) {
    if (isOver(state, now)) return FREE;
    if (!claimsMachine.impossible(rule, state, now)) return state;
    const length = state.state === 'running' ? rule.leaseUs : rule.keepUs;
    return { ...state, ends: now + BigInt(length) };
  },

  impossible(_rule, { state, ends }, now) {
    return state !== 'free' && ends > now + LONGEST_US[state];
  },

  passes: (_rule, view, _now, _cost, named = {}) => isOpen(view, named),

  charge: (rule, _view, now, _cost, named) => running(rule, now, named),

  record(rule, view, now, _cost, named) {
    return isOpen(view, named) ? running(rule, now, named) : undefined;
  },

  put(_rule, view, _now, _cost, _receipt, named) {
    return runs(view, named) ? FREE : undefined;
  },

  done({ keepUs }, view, now, named) {
    const { claim } = named;
    if (!claim) return undefined;
    const { owner, note = '' } = claim;
    if (isOpen(view, named)) return { state: 'done', owner, ends: now + BigInt(keepUs), note };
    return view.owner === owner ? view : undefined;
  },

  numbers(_rule, { state, ends }, now, _cost, allowed) {
    const used = state === 'free' ? 0n : 1n;
    const resetUs = state === 'free' ? 0n : ends - now;
    const waitUs = state === 'running' ? resetUs : undefined;
    return { used, remaining: 1n - used, retryUs: allowed ? 0n : waitUs, resetUs };
  },

  answer: (_rule, { state, owner, ends, note }, nowUs) => ({
    nowUs,
    state,
    owner,
    endsUs: Number(ends),
    note,
  }),

  forgettable: (_rule, state, now, earlier) => isOver(state, now) && state.ends > earlier,
};
