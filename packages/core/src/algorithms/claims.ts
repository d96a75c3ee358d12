/**
 * Claims of idempotency keys. If you change the steps, also change them in
 * packages/redis/src/algorithms/claims/claims.lua.
 *
 * As text, as in Redis: the end, `r` (running) or `d` (done), the owner and the note. Example:
 * `1767225660000000raaaaaaaaaaaaaaaa`.
 */

import { LONGEST_US } from '../base/duration.js';
import { encodeText } from '../base/encode-name.js';
import { SpillwayError, show } from '../base/errors.js';
import { type Fingerprint, randomSeed, shortened } from '../base/fingerprint.js';
import type { Ask } from '../contract/ask.js';
import type { Numbers } from '../contract/decision.js';
import type { ClaimsAnswer, ClaimsRule, Machine, ShelfStep } from '../contract/rule.js';
import { MAX_LEASE_US } from './leases.js';
import { type Expiring, KeyedShelf } from './shelves/keyed-shelf.js';
import { type TextForm, unknownFormat, wholeNumber } from './stored-count.js';
import { permitUpkeep } from './upkeep/permits.js';

export const claimsMachine: Machine = {
  upkeep: permitUpkeep,
  same: (rule: ClaimsRule, other: ClaimsRule) =>
    rule.leaseUs === other.leaseUs && rule.keepUs === other.keepUs,
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
  hasIds: true,
  failsClosed: true,
  checkStep: checkClaim,
  codeOf: ({ code }, { id }) => `${code}:${encodeText(id)}`,
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

/** 400 days. If more than this is left of a done claim, the clock went back. */
export const MAX_KEEP_US: number = LONGEST_US;

type ClaimState = Pick<ClaimsAnswer, 'state' | 'owner' | 'endsUs' | 'note'>;

const FREE: ClaimState = { state: 'free', owner: '', endsUs: 0, note: '' };

interface Stepped {
  readonly answer: ClaimsAnswer;
  readonly dirty: boolean;
}

/** Applies `ask` to a claim. See {@link stepBucket} for `charge`. */
function stepClaim(
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

type ClaimEntry = ClaimState & Expiring;

/** A longer name is stored as two fingerprints: with one, a request could get the response of another. */
const LONGEST_NAME = 128;

class ClaimShelf extends KeyedShelf<ClaimsRule, ClaimEntry> {
  readonly alone = true;
  private seeds: readonly [Fingerprint, Fingerprint] | undefined;

  override step({
    ask,
    nowUs,
    charge,
    count = FREE,
  }: ShelfStep<ClaimsRule, ClaimState>): ClaimsAnswer {
    const { answer, dirty } = stepClaim(ask, count, nowUs, charge);
    if (dirty) this.storeClaim(ask, answer);
    return answer;
  }

  override expiresAtUs(_: ClaimsRule, { endsUs }: ClaimsAnswer): number {
    return endsUs;
  }

  private storeClaim(ask: Ask<ClaimsRule>, { state, owner, endsUs, note }: ClaimState): void {
    if (state === 'free') this.delete(ask);
    else this.set(ask, { state, owner, endsUs, note, expiresUs: endsUs });
  }

  /** Before it is shortened, the name starts with the key's length, so no other key and id give the same name. */
  protected override nameOf({ key, claim }: Ask<ClaimsRule>): string {
    const name = `${key.length} ${key}${claim?.id ?? ''}`;
    if (name.length <= LONGEST_NAME) return name;
    this.seeds ??= [randomSeed(), randomSeed()];
    const [one, other] = this.seeds;
    return shortened(name, one) + shortened(name, other);
  }
}

const FORM = /^(\d{1,16})(?:r([\w-]{16})|d([\w-]{16})([\x20-\x7e]{0,256}))$/;

export const claimsForm: TextForm<{ claim: ClaimState; dirty: boolean }> = {
  unused: () => ({ claim: FREE, dirty: false }),
  read: (text) => ({ claim: claimOf(text), dirty: false }),
  step(ask: Ask<ClaimsRule>, stored, nowUs, charge) {
    const { answer, dirty } = stepClaim(ask, stored.claim, nowUs, charge);
    if (dirty) stored.claim = answer;
    stored.dirty = dirty;
    return answer;
  },
  expiresUs: ({ claim }) => claim.endsUs,
  text({ claim: { state, owner, endsUs, note } }) {
    return `${endsUs}${state === 'done' ? 'd' : 'r'}${owner}${note}`;
  },
};

function claimOf(text: string): ClaimState {
  const [, end, runner, doer, note = ''] = FORM.exec(text) ?? [];
  const endsUs = wholeNumber(Number(end));
  if (runner) return { state: 'running', owner: runner, endsUs, note: '' };
  if (doer) return { state: 'done', owner: doer, endsUs, note };
  throw unknownFormat();
}
