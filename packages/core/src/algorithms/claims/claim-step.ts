/**
 * The steps of a claim. If you change them, also change the same code in Lua:
 * packages/redis/src/algorithms/claims/claims.lua.
 */

import { SpillwayError } from '../../base/errors.js';
import type { Ask, ClaimsAnswer } from '../../contract/ask.js';
import type { ClaimsRule } from '../../contract/rule.js';
import { MAX_LEASE_US } from '../leases/lease-step.js';

/**
 * The longest time that a done claim stays stored: 400 days. If more than this is left of a claim, the clock went back.
 */
export const MAX_KEEP_US: number = 400 * 86_400_000_000;

export type ClaimState = Pick<ClaimsAnswer, 'state' | 'owner' | 'endsUs' | 'note'>;

export const FREE: ClaimState = { state: 'free', owner: '', endsUs: 0, note: '' };

interface Stepped {
  readonly answer: ClaimsAnswer;
  readonly dirty: boolean;
}

/** Applies `ask` to a claim. See {@link stepBucket} for `charge`. */
export function stepClaim(
  ask: Ask<ClaimsRule>,
  stored: ClaimState,
  nowUs: number,
  charge: boolean,
): Stepped {
  const { op, rule, claim } = ask;
  const stepped = (allowed: boolean, seen: ClaimState, dirty: boolean): Stepped => {
    const { state, owner, endsUs, note } = seen;
    return { answer: { allowed, nowUs, state, owner, endsUs, note }, dirty };
  };
  if (op === 'reset') return stepped(true, FREE, claim !== undefined);
  if (!claim) throw new SpillwayError('SPW_GROUP_INVALID', `step '${op}' has no claim: set claim`);
  const { owner, note = '' } = claim;
  const seen = view(rule, stored, nowUs);
  const isFree = seen.state === 'free';
  const isOwn = !isFree && seen.owner === owner;
  const isOpen = isFree || (isOwn && seen.state === 'running');
  if (op === 'put') {
    return isOpen && isOwn ? stepped(true, FREE, true) : stepped(false, seen, false);
  }
  if (op === 'done') {
    if (!isOpen) return stepped(isOwn, seen, false);
    return stepped(true, { state: 'done', owner, endsUs: nowUs + rule.keepUs, note }, true);
  }
  if (isOpen && (op === 'record' || (op === 'take' && charge))) {
    const endsUs = nowUs + rule.leaseUs;
    return stepped(true, { state: 'running', owner, endsUs, note: '' }, true);
  }
  const isRepaired = !isFree && seen.endsUs !== stored.endsUs;
  return stepped(isOpen, seen, op === 'take' && isRepaired);
}

/**
 * The claim at `nowUs`, free if it has expired. If a claim would end later than any lease or storage time allows, the
 * clock went back, and the claim is shortened.
 */
function view(rule: ClaimsRule, stored: ClaimState, nowUs: number): ClaimState {
  if (stored.endsUs <= nowUs) return FREE;
  const runs = stored.state === 'running';
  const isPossible = stored.endsUs <= nowUs + (runs ? MAX_LEASE_US : MAX_KEEP_US);
  return isPossible ? stored : { ...stored, endsUs: nowUs + (runs ? rule.leaseUs : rule.keepUs) };
}
