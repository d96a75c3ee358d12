/**
 * Claims: pure functions from a state to the next one (see docs/algorithms.md;
 * packages/redis/src/algorithms/claims/claims.lua does the same in Lua).
 */

import { SpillwayError } from '../../base/errors.js';
import type { ClaimsAnswer } from '../../contract/answer.js';
import type { Ask, Claim } from '../../contract/ask.js';
import type { ClaimsRule } from '../../contract/rule.js';
import { MAX_LEASE_US } from '../leases/step.js';

/** The longest time that a claim is kept: 400 days. One that ends later was done before the clock went back. */
export const MAX_KEEP_US: number = 400 * 86_400_000_000;

/** Of one id: whether it is claimed, by whom, and until when. */
export type ClaimState = Pick<ClaimsAnswer, 'state' | 'owner' | 'endsUs' | 'note'>;

/** The state of an id that was never claimed. */
export const FREE: ClaimState = { state: 'free', owner: '', endsUs: 0, note: '' };

interface Stepped {
  readonly allowed: boolean;
  /** The state after the step, as the rule sees it. */
  readonly state: ClaimState;
  /** True if the caller must store that state. */
  readonly dirty: boolean;
}

/**
 * Does to a claim what `ask` asks; see {@link stepBucket} for `charge`.
 *
 * @throws SpillwayError `SPW_GROUP_INVALID` if it names no claim and is no `reset`
 */
export function stepClaim(
  ask: Ask<ClaimsRule>,
  stored: ClaimState,
  nowUs: number,
  charge: boolean,
): Stepped {
  const { op, rule, claim } = ask;
  if (op === 'reset') return { allowed: true, state: FREE, dirty: claim !== undefined };
  if (claim === undefined) throw new SpillwayError('SPW_GROUP_INVALID', `${op} without a claim`);
  const seen = view(rule, stored, nowUs);
  const isOwn = seen.state !== 'free' && seen.owner === claim.owner;
  const isOpen = seen.state === 'free' || (isOwn && seen.state === 'running');
  if (op === 'put') {
    return isOpen && isOwn ? written(FREE) : { allowed: false, state: seen, dirty: false };
  }
  if (op === 'done') {
    if (isOpen) return written(after(claim, 'done', nowUs + rule.keepUs));
    return { allowed: isOwn, state: seen, dirty: false };
  }
  const acts = isOpen && (op === 'record' || (op === 'take' && charge));
  if (acts) return written(after(claim, 'running', nowUs + rule.leaseUs));
  const isRepaired = seen.state !== 'free' && seen.endsUs !== stored.endsUs;
  return { allowed: isOpen, state: seen, dirty: op === 'take' && isRepaired };
}

/** What the rule sees: a claim that is over is free, and one that ends later than any can was made by another clock. */
function view(rule: ClaimsRule, stored: ClaimState, nowUs: number): ClaimState {
  if (stored.endsUs <= nowUs) return FREE;
  const runs = stored.state === 'running';
  const isPossible = stored.endsUs <= nowUs + (runs ? MAX_LEASE_US : MAX_KEEP_US);
  return isPossible ? stored : { ...stored, endsUs: nowUs + (runs ? rule.leaseUs : rule.keepUs) };
}

function after({ owner, note = '' }: Claim, state: 'running' | 'done', endsUs: number): ClaimState {
  return { state, owner, endsUs, note: state === 'done' ? note : '' };
}

function written(state: ClaimState): Stepped {
  return { allowed: true, state, dirty: true };
}
