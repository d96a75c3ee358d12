/** The request rate limiter: so many units per key and window. */

import type { Decision, Policy } from '../decision.js';
import type { Duration } from '../duration.js';
import { SpillwayError, show } from '../errors.js';
import { type Algorithm, type Rule, shareOf } from '../rule.js';
import type { Answer, Receipt, Step } from '../store.js';
import { decide, policyOf } from './decide.js';
import type { Mode, OnStoreError, RequestOutcome, StepContext, StoredLimiter } from './limiter.js';
import { checkName, checkWord, isCost, isLimit, nameFrom, ruleFrom } from './options.js';
import { receiptFrom } from './receipt.js';
import type { LimitRequest, Per } from './request.js';

export interface RateLimitOptions<Raw = unknown> {
  /**
   * Identifies the limit in headers, problem bodies, metrics and the store: 1 to 64 printable ASCII characters. Required
   * when the guard is given a store. Default: the numbers, as in `100-per-1m`.
   */
  readonly name?: string;
  /** Units per window, an integer from 1 to 1,000,000,000, or a function of the request (then with `defaultLimit`). */
  readonly limit: Per<Raw, number>;
  /** The limit that counts when the `limit` function throws or returns none. Required with a function. */
  readonly defaultLimit?: number;
  /** `'1m'`, or milliseconds: from 1 ms to 400 days. */
  readonly window: Duration;
  /** Units at once, for `token-bucket` only. Default: the limit. */
  readonly burst?: number;
  /** Default `token-bucket`. */
  readonly algorithm?: Algorithm;
  /** What is counted apart: a user, a tenant, an API key. Default, and where it is empty or throws: the client's address. */
  readonly key?: Per<Raw, string | undefined>;
  /** Units one request takes, an integer from 0. Default 1. */
  readonly cost?: Per<Raw, number>;
  /** `enforce` (default), `shadow` (dark launch) or `off` (kill switch). */
  readonly mode?: Per<Raw, Mode>;
  /** What to do when the store cannot answer. Default: the guard's, which is `allow`. */
  readonly onStoreError?: OnStoreError;
  /** With `onStoreError: 'local'`: this process's share of the limit, above 0 up to 1. Default 1. */
  readonly localShare?: number;
  /**
   * After the response: whether to give the cost back. `({ status, aborted }) => status === 200 && !aborted` counts failures
   * only; beware that a client can go away before it is answered.
   */
  readonly refundIf?: (outcome: RequestOutcome) => boolean;
}

/** Counts of keys that users choose never meet those of client addresses. */
const ADDRESS_MARK = '@';
/** How many limits that a function returned are kept ready. */
const KNOWN_LIMITS = 256;

/**
 * Limits how much each key may do per window; a request beyond it is answered with 429. The default algorithm is the token
 * bucket of Stripe's request rate limiter (P. Tarjan, "Scaling your API with rate limiters", 2017), exact to the
 * microsecond.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_WINDOW_INVALID`, `SPW_BURST_INVALID`, `SPW_COST_INVALID`,
 * `SPW_ALGORITHM_INVALID`, `SPW_NAME_INVALID`, `SPW_KEY_INVALID`, `SPW_OPTION_INVALID`
 * @example
 * ```ts
 * import { createGuard, rateLimit } from '@spillway/core';
 *
 * const guard = createGuard([
 *   rateLimit({ name: 'per-key', limit: 100, window: '1s', burst: 500, key: (r) => r.header('x-api-key') }),
 *   rateLimit({ name: 'uploads', limit: 10, window: '1h', cost: (r) => (r.method === 'POST' ? 1 : 0) }),
 * ]);
 * ```
 */
export function rateLimit<Raw = unknown>(options: RateLimitOptions<Raw>): StoredLimiter<Raw> {
  return new RateLimiter(options);
}

interface Known {
  readonly rule: Rule;
  /** The rule for this process alone, when the store fails. */
  readonly local: Rule;
  readonly policy: Policy;
}

class RateLimiter<Raw> implements StoredLimiter<Raw> {
  readonly kind = 'stored';
  readonly name: string;
  readonly named: boolean;
  readonly mode: Per<Raw, Mode>;
  readonly rule: Rule;
  readonly settle: StoredLimiter<Raw>['settle'];
  private readonly options: RateLimitOptions<Raw>;
  private readonly declared: Known;
  private readonly known = new Map<number, Known>();

  constructor(options: RateLimitOptions<Raw>) {
    this.options = options;
    const limit = declaredLimit(options);
    this.name = checkName(options.name ?? nameFrom(limit, options.window));
    this.named = options.name !== undefined;
    this.mode =
      typeof options.mode === 'function'
        ? options.mode
        : (checkWord<Mode>('mode', options.mode, ['enforce', 'shadow', 'off']) ?? 'enforce');
    checkWord('onStoreError', options.onStoreError, ['allow', 'deny', 'local']);
    checkConstants(options);
    this.declared = this.know(limit);
    this.rule = this.declared.rule;
    const { refundIf } = options;
    this.settle =
      refundIf && ((step, answer, outcome) => refundStep(refundIf, step, answer, outcome));
  }

  step(request: LimitRequest<Raw>, binding: boolean, context: StepContext): Step {
    const { rule, local } = this.numbers(request, context);
    const policy = this.options.onStoreError ?? context.onStoreError;
    return {
      op: 'take',
      limiter: this.name,
      key: this.key(request, context),
      rule,
      cost: this.cost(request, context),
      binding,
      onStoreError: policy === 'local' ? local : policy,
    };
  }

  decide(step: Step, answer: Answer): Decision {
    const known = step.rule === this.rule ? this.declared : this.know(step.rule.limit);
    return decide(step, answer, known.policy);
  }

  private key(request: LimitRequest<Raw>, context: StepContext): string {
    const { key } = this.options;
    if (key !== undefined) {
      const own = read(key, request, 'key', this.name, context);
      if (typeof own === 'string' && own !== '') {
        return own.startsWith(ADDRESS_MARK) ? ADDRESS_MARK + own : own;
      }
      if (own !== undefined && own !== null && own !== '') this.junk('key', own, context);
    }
    // An address that cannot be known is one bucket for all, not one for each spelling.
    return ADDRESS_MARK + (request.clientIp ?? 'unknown');
  }

  private cost(request: LimitRequest<Raw>, context: StepContext): number {
    const { cost } = this.options;
    if (cost === undefined) return 1;
    const own = read(cost, request, 'cost', this.name, context);
    if (isCost(own)) return own;
    if (own !== undefined) this.junk('cost', own, context);
    return 1;
  }

  private numbers(request: LimitRequest<Raw>, context: StepContext): Known {
    const { limit } = this.options;
    if (typeof limit !== 'function') return this.declared;
    const own = read(limit, request, 'limit', this.name, context);
    if (isLimit(own)) return this.know(own);
    if (own !== undefined) this.junk('limit', own, context);
    return this.declared;
  }

  private know(limit: number): Known {
    let known = this.known.get(limit);
    if (!known) {
      const rule = ruleFrom({ ...this.options, limit });
      const local = shareOf(rule, this.options.localShare ?? 1);
      known = { rule, local, policy: policyOf(this.name, rule) };
      if (this.known.size >= KNOWN_LIMITS) this.known.clear();
      this.known.set(limit, known);
    }
    return known;
  }

  private junk(source: 'key' | 'cost' | 'limit', value: unknown, context: StepContext): void {
    const error = new TypeError(`${source} of limiter "${this.name}" returned ${show(value)}`);
    context.fault({ limiter: this.name, source, error });
  }
}

function refundStep(
  refundIf: (outcome: RequestOutcome) => boolean,
  step: Step,
  answer: Answer,
  outcome: RequestOutcome,
): Step | undefined {
  if (!refundIf(outcome)) return undefined;
  const receipt: Receipt = receiptFrom(step.rule, answer);
  return { ...step, op: 'put', receipt };
}

/** The value of an option for a request; undefined, and a fault, if its function throws. */
function read<Raw, Value>(
  option: Per<Raw, Value>,
  request: LimitRequest<Raw>,
  source: 'key' | 'cost' | 'limit',
  limiter: string,
  context: StepContext,
): Value | undefined {
  if (typeof option !== 'function') return option;
  try {
    return (option as (request: LimitRequest<Raw>) => Value)(request);
  } catch (error) {
    context.fault({ limiter, source, error });
    return undefined;
  }
}

function declaredLimit<Raw>(options: RateLimitOptions<Raw>): number {
  const { limit, defaultLimit } = options;
  if (typeof limit !== 'function') {
    if (!isLimit(limit)) {
      throw new SpillwayError(
        'SPW_LIMIT_INVALID',
        `limit must be an integer from 1 to 1,000,000,000 or a function, got ${show(limit)}`,
      );
    }
    return limit;
  }
  if (!isLimit(defaultLimit)) {
    throw new SpillwayError(
      'SPW_LIMIT_INVALID',
      `defaultLimit must be an integer from 1 to 1,000,000,000 when limit is a function, got ${show(defaultLimit)}`,
    );
  }
  return defaultLimit;
}

function checkConstants<Raw>(options: RateLimitOptions<Raw>): void {
  const { cost, key, localShare, refundIf } = options;
  if (cost !== undefined && typeof cost !== 'function' && !isCost(cost)) {
    throw new SpillwayError(
      'SPW_COST_INVALID',
      `cost must be an integer from 0, got ${show(cost)}`,
    );
  }
  if (key !== undefined && typeof key !== 'function' && (typeof key !== 'string' || key === '')) {
    throw new SpillwayError(
      'SPW_KEY_INVALID',
      `key must be a function or a string that is not empty, got ${show(key)}`,
    );
  }
  if (localShare !== undefined && !(localShare > 0 && localShare <= 1)) {
    throw new SpillwayError(
      'SPW_OPTION_INVALID',
      `localShare must be above 0 and at most 1, got ${show(localShare)}`,
    );
  }
  if (refundIf !== undefined && typeof refundIf !== 'function') {
    throw new SpillwayError(
      'SPW_OPTION_INVALID',
      `refundIf must be a function, got ${show(refundIf)}`,
    );
  }
}
