/** Decisions that an operator has made: about a key, and how far a limit is enforced. */

import { fingerprint } from '../base/fingerprint.js';
import type { KeyRuling } from '../contract/control.js';
import type { Decision } from '../contract/decision.js';
import type { Mode } from '../contract/mode.js';
import { skippedDecision } from '../contract/skipped.js';

/** The decision on a key that was allowed or blocked live. */
export function ruledDecision(
  limiter: string,
  mode: Mode,
  { verdict, endsInMs }: KeyRuling,
): Decision {
  return verdict === 'allow'
    ? skippedDecision(limiter)
    : refusedDecision(limiter, mode, 'blocked', endsInMs);
}

/** The decision on what is refused without asking the store. */
export function refusedDecision(
  limiter: string,
  mode: Mode,
  reason: 'blocked' | 'never',
  retryAfterMs: number,
): Decision {
  const enforced = mode === 'enforce';
  const outcome = enforced ? 'denied' : 'would-deny';
  const nothing = skippedDecision(limiter);
  return { ...nothing, allowed: !enforced, outcome, reason, remaining: 0, retryAfterMs };
}

/**
 * Of the fingerprint of a share. The same everywhere and for ever: a key must not change sides with a process or a
 * deploy.
 */
const SEED = { lo: 0x73706c77, hi: 0x73686172 };

/** Whether `key` is among the `share` of keys; whoever is in a share is in every larger one. */
export function isInShare(limiter: string, key: string, share: number): boolean {
  if (share >= 1) return true;
  const { lo } = fingerprint(`${limiter} ${key}`, SEED);
  return (lo >>> 0) / 2 ** 32 < share;
}
