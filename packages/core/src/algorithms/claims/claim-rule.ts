import { encodeText } from '../../base/encode-name.js';
import { SpillwayError, show } from '../../base/errors.js';
import type { ClaimsAnswer } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { ClaimsRule, Machine } from '../../contract/rule.js';
import { permitUpkeep } from '../upkeep/permits.js';
import { ClaimShelf } from './claim-shelf.js';

const claimsMachine: Machine = {
  upkeep: permitUpkeep,
  same: (rule: ClaimsRule, other: ClaimsRule) =>
    rule.leaseUs === other.leaseUs && rule.keepUs === other.keepUs,
  capacity: () => 1,
  share: (rule) => rule,
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
  expiresAfterUs: ({ leaseUs, keepUs }: ClaimsRule) => Math.max(leaseUs, keepUs),
  measure: measureClaims,
  receipt: (_, units) => ({ atUs: 0, num: 0, units }),
  merges: false,
  failsClosed: true,
  checkStep: checkClaim,
  codeOf: ({ code }, { id }) => `${code}:${encodeText(id)}`,
  described: ({ leaseUs, keepUs }: ClaimsRule) =>
    `claims under leases of ${leaseUs / 1000} ms, kept for ${keepUs / 1000} ms`,
  shelf: () => new ClaimShelf(),
  // Rejections are not cached: the owner may release its claim at any moment.
};

/**
 * Makes the rule of claims. It does not check the numbers.
 *
 * @param leaseUs how long a claim is held without a renewal: an integer from 1 s to 24 hours in microseconds
 * @param keepUs how long a done claim stays stored: an integer from 1 s to 400 days in microseconds
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

const OWNER = /^[\w-]{16}$/;
const NOTE = /^[\x20-\x7e]{0,256}$/;

function checkClaim(step: Parameters<NonNullable<Machine['checkStep']>>[0]): void {
  const { op, limiter, cost, claim, onStoreError } = step;
  const invalid = (why: string) =>
    new SpillwayError('SPW_GROUP_INVALID', `step ${show(op)} of limiter ${show(limiter)} ${why}`);
  if (typeof onStoreError === 'object')
    throw invalid("has a rule as onStoreError: use 'allow' or 'deny'");
  if (claim === undefined) {
    if (op === 'reset') return;
    throw invalid('has no claim: set claim');
  }
  if (typeof claim.id !== 'string')
    throw invalid(`has the claim id ${show(claim.id)}: use a string`);
  const needsNoOwner = (op === 'look' || op === 'reset') && claim.owner === '';
  if (!needsNoOwner && !(typeof claim.owner === 'string' && OWNER.test(claim.owner)))
    throw invalid('has an owner that is not 16 characters of A-Z a-z 0-9 _ -');
  if (!NOTE.test(claim.note ?? ''))
    throw invalid('has a note that is not 0 to 256 printable ASCII characters');
  if (cost !== 1 && op !== 'reset') throw invalid(`has cost ${show(cost)}: a claim costs 1`);
}

/**
 * The numbers of a decision about a claim. If the step passes, `retryAfterMs` is 0. While the claim of another owner
 * runs, it is the time until the lease expires, although that owner may renew the lease. If the claim is done, it is
 * NaN, because the stored response is replayed and waiting doesn't help.
 */
function measureClaims(_: ClaimsRule, answer: ClaimsAnswer): Numbers {
  const { allowed, nowUs, state, endsUs } = answer;
  const used = state === 'free' ? 0 : 1;
  const resetMs = used === 0 ? 0 : (endsUs - nowUs) / 1000;
  const waitMs = state === 'running' ? resetMs : Number.NaN;
  return { used, remaining: 1 - used, retryAfterMs: allowed ? 0 : waitMs, resetMs };
}
