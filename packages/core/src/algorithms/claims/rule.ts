/** The rule of claims, and its machine. */

import { encodeText } from '../../base/encode-name.js';
import type { ClaimsRule, Machine } from '../../contract/rule.js';
import { permitUpkeep } from '../upkeep/permits.js';
import { checkClaim } from './check.js';
import { measureClaims } from './measure.js';
import { receiptOfClaim } from './receipt.js';
import { ClaimShelf } from './shelf.js';

const claimsMachine: Machine = {
  upkeep: permitUpkeep,
  same: (rule: ClaimsRule, other: ClaimsRule) =>
    rule.leaseUs === other.leaseUs && rule.keepUs === other.keepUs,
  capacity: () => 1,
  // One claim has no share, and no room for nobody: who may claim nothing is refused before.
  share: (rule) => rule,
  closed: (rule) => rule,
  policy: (name) => ({
    name,
    unit: 'concurrent-requests',
    limit: 1,
    windowMs: Infinity,
    burst: 1,
  }),
  declared: ({ limit, leaseUs, keepUs }: ClaimsRule) => ({
    algorithm: 'claims',
    limit,
    leaseMs: leaseUs / 1000,
    keepMs: keepUs / 1000,
  }),
  restUs: ({ leaseUs, keepUs }: ClaimsRule) => Math.max(leaseUs, keepUs),
  measure: measureClaims,
  receipt: receiptOfClaim,
  merges: false,
  failsClosed: true,
  checkStep: checkClaim,
  codeOf: ({ code }, { id }) => `${code}:${encodeText(id)}`,
  described: ({ leaseUs, keepUs }: ClaimsRule) =>
    `claims under leases of ${leaseUs / 1000} ms, kept for ${keepUs / 1000} ms`,
  shelf: () => new ClaimShelf(),
  // No refusal is remembered: whoever gives up a claim may end one at any moment.
};

/**
 * Makes the rule of claims: `leaseUs`, how long one is held without a renewal, is an integer from 1 s to 24 hours in
 * microseconds; `keepUs`, how long one that is done is kept, from 1 s to 400 days. The numbers must have been checked.
 *
 * @example
 * ```ts run
 * import { memoryStore } from '@spillway/core';
 * import { type ClaimsAnswer, makeClaimsRule, type Step } from '@spillway/core/store';
 *
 * const rule = makeClaimsRule(30_000_000, 86_400_000_000);
 * const claim = { id: 'charge-17', owner: 'aaaaaaaaaaaaaaaa' };
 * const take: Step = { op: 'take', limiter: 'once', key: 'ada', rule, claim, cost: 1, binding: true };
 * const other: Step = { ...take, claim: { ...claim, owner: 'bbbbbbbbbbbbbbbb' } };
 * const store = memoryStore();
 * const states = [take, other, { ...take, op: 'done' as const }, other].map((step) => {
 *   const [{ allowed, state }] = store.apply([step]) as readonly [ClaimsAnswer];
 *   return `${allowed} ${state}`;
 * });
 * states; // ['true running', 'false running', 'true done', 'false done']
 * ```
 */
export function makeClaimsRule(leaseUs: number, keepUs: number): ClaimsRule {
  return { machine: 'claims', logic: claimsMachine, code: 'c', limit: 1, leaseUs, keepUs };
}
