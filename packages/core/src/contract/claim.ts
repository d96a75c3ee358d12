/** What every store checks of a step with a claim before it reads any key. */

import { SpillwayError, show } from '../base/errors.js';
import type { Step } from './store.js';

const OWNER = /^[\w-]{16}$/;
const NOTE = /^[\x20-\x7e]{0,256}$/;

/** Whether `checkClaim` has something to check. */
export function concernsClaims({ op, rule, claim }: Step): boolean {
  return claim !== undefined || rule.machine === 'claims' || op === 'done';
}

/**
 * @throws SpillwayError `SPW_GROUP_INVALID` if the rule is of another algorithm, the step names no claim though it is
 * no `reset`, its cost is not 1, the claim is not what it must be, or another rule is to stand in for it
 */
export function checkClaim({ op, limiter, rule, cost, claim, onStoreError }: Step): void {
  const invalid = (why: string) =>
    new SpillwayError('SPW_GROUP_INVALID', `a group asks to ${op} limiter ${show(limiter)} ${why}`);
  if (rule.machine !== 'claims')
    throw invalid('with a claim, but its rule is about something else');
  if (typeof onStoreError === 'object')
    throw invalid('by a rule of its own: nothing counts claims but the store');
  if (claim === undefined) {
    if (op === 'reset') return;
    throw invalid('without a claim');
  }
  if (typeof claim.id !== 'string') throw invalid(`with a claim of ${show(claim.id)}`);
  const needsNoOwner = (op === 'look' || op === 'reset') && claim.owner === '';
  if (!needsNoOwner && !(typeof claim.owner === 'string' && OWNER.test(claim.owner)))
    throw invalid('for an owner that is not 16 of A-Z a-z 0-9 _ -');
  if (!NOTE.test(claim.note ?? ''))
    throw invalid('with a note that is not 0 to 256 printable ASCII characters');
  if (cost !== 1 && op !== 'reset') throw invalid(`for ${show(cost)} units: a claim is one`);
}
