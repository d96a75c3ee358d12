/** What is checked of a step under a rule of claims before a store reads any key. */

import { SpillwayError, show } from '../../base/errors.js';
import type { Machine } from '../../contract/rule.js';

type CheckStep = NonNullable<Machine['checkStep']>;

const OWNER = /^[\w-]{16}$/;
const NOTE = /^[\x20-\x7e]{0,256}$/;

/**
 * @throws SpillwayError `SPW_GROUP_INVALID` if the step names no claim though it is no `reset`, its cost is not 1, the
 * claim is not what it must be, or another rule is to stand in for it
 */
export const checkClaim: CheckStep = ({ op, limiter, cost, claim, onStoreError }) => {
  const invalid = (why: string) =>
    new SpillwayError('SPW_GROUP_INVALID', `a group asks to ${op} limiter ${show(limiter)} ${why}`);
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
};
