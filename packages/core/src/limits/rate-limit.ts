/** The request rate limiter: so many units per key and window. */

import { decide } from '../algorithms/decide.js';
import { receiptFrom } from '../algorithms/receipt.js';
import { checkCallback, checkCost, checkName, isCost } from '../base/checks.js';
import type { Duration } from '../base/duration.js';
import { isTrue } from '../base/junk.js';
import type { Decision } from '../contract/decision.js';
import type { RequestOutcome, StepContext, StoredLimiter } from '../contract/limiter.js';
import type { Mode } from '../contract/mode.js';
import type { LimitRequest, Per } from '../contract/request.js';
import type { Algorithm, Rule } from '../contract/rule.js';
import type { Answer, Receipt, Step } from '../contract/store.js';
import {
  type CallbackContext,
  checkKeyOption,
  checkMode,
  checkShare,
  checkStoreError,
  declaredLimit,
  junk,
  keyOf,
  limitOf,
  read,
  type StoreErrorOptions,
} from './callbacks.js';
import { nameFrom, ruleFrom } from './rule-options.js';
import { type RuleVariant, RuleVariants } from './rule-variants.js';

export interface RateLimitOptions<Raw = unknown> extends StoreErrorOptions {
  /**
   * Identifies the limit in headers, problem bodies, metrics and the store: 1 to 64 printable ASCII characters.
   * Required
   * when the guard is given a store. Default: the numbers, as in `100-per-1m`.
   */
  readonly name?: string | undefined;
  /**
   * Units per window, an integer from 1 to 1,000,000,000, or a function of the request (then with `defaultLimit`). 0
   * from a
   * function lets nobody pass (`never`), whatever is set live, and asks no store.
   */
  readonly limit: Per<Raw, number>;
  /** The limit that counts when the `limit` function throws or returns none. Required with a function. */
  readonly defaultLimit?: number | undefined;
  /** `'1m'`, or milliseconds: from 1 ms to 400 days. */
  readonly window: Duration;
  /** Units at once, for `token-bucket` only. Default: the limit. */
  readonly burst?: number | undefined;
  /** Default `token-bucket`. */
  readonly algorithm?: Algorithm | undefined;
  /**
   * What is counted apart: a user, a tenant, an API key. Default, and where it is empty, longer than 8,192 units or
   * throws: the client's address.
   */
  readonly key?: Per<Raw, string | undefined> | undefined;
  /** Units one request takes, an integer from 0. Default 1. */
  readonly cost?: Per<Raw, number> | undefined;
  /** `enforce` (default), `shadow` (dark launch) or `off` (kill switch). */
  readonly mode?: Per<Raw, Mode> | undefined;
  /**
   * Roll-out: the share of keys for which the limit is enforced, 0 to 1, always the same ones; for the others it is in
   * shadow. Default 1.
   */
  readonly share?: number | undefined;
  /**
   * After the response: whether to give the cost back. `({ status = 500, aborted }) => status < 400 && !aborted` counts
   * failures
   * only; beware that a client can go away before it is answered. The request is the one that was judged: where its
   * `raw` leads
   * to what a handler found out, such as `res.locals`, it can say what the status does not. Only `true` gives back;
   * anything
   * but `true`, `false` and `undefined`, a promise too, is a fault.
   */
  readonly refundIf?:
    | ((outcome: RequestOutcome, request: LimitRequest<Raw>) => boolean)
    | undefined;
}

/**
 * Limits how much each key may do per window; a request beyond it is answered with 429. The default algorithm is the
 * token
 * bucket of Stripe's request rate limiter (P. Tarjan, "Scaling your API with rate limiters", 2017), exact to the
 * microsecond.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_WINDOW_INVALID`, `SPW_BURST_INVALID`, `SPW_COST_INVALID`,
 * `SPW_ALGORITHM_INVALID`, `SPW_NAME_INVALID`, `SPW_KEY_INVALID`, `SPW_OPTION_INVALID`
 * @example
 * ```ts
 * import { createGuard, rateLimit } from '@spillway/core';
 *
 * const guard = createGuard<{ user?: { id: string } }>([
 *   rateLimit({ name: 'per-account', limit: 100, window: '1s', burst: 500, key: ({ raw }) => raw.user?.id }),
 *   rateLimit({ name: 'uploads', limit: 10, window: '1h', cost: (r) => (r.method === 'POST' ? 1 : 0) }),
 * ]);
 * ```
 */
export function rateLimit<Raw = unknown>(options: RateLimitOptions<Raw>): StoredLimiter<Raw> {
  return new RateLimiter(options);
}

class RateLimiter<Raw> implements StoredLimiter<Raw> {
  readonly kind = 'stored';
  readonly name: string;
  readonly named: boolean;
  readonly mode: Per<Raw, Mode>;
  readonly rule: Rule;
  readonly share: number;
  readonly onStoreError: StoredLimiter['onStoreError'];
  readonly settle: StoredLimiter<Raw>['settle'];
  private readonly options: RateLimitOptions<Raw>;
  private readonly book: RuleVariants;
  private readonly declared: RuleVariant;

  constructor(options: RateLimitOptions<Raw>) {
    this.options = options;
    const limit = declaredLimit('limit', options.limit, options.defaultLimit);
    this.name = checkName(options.name ?? nameFrom(limit, options.window));
    this.named = options.name !== undefined;
    this.mode = checkMode(options.mode);
    checkConstants(options);
    this.share = checkShare(options.share);
    this.onStoreError = options.onStoreError;
    this.book = new RuleVariants(this.name, options.localShare ?? 1, (numbers) =>
      ruleFrom({ ...options, ...numbers }),
    );
    this.declared = this.book.page(limit);
    this.rule = this.declared.rule;
    const { refundIf } = options;
    this.settle =
      refundIf &&
      ((step, answer, outcome, request) =>
        isTrue(`refundIf of limiter "${this.name}"`, refundIf(outcome, request))
          ? refundStep(step, answer)
          : undefined);
  }

  step(request: LimitRequest<Raw>, binding: boolean, context: StepContext): Step {
    const asking = { limiter: this.name, request, context };
    const { rule, local } = this.numbers(asking);
    const policy = this.options.onStoreError ?? context.onStoreError;
    return {
      op: 'take',
      limiter: context.countedAs ?? this.name,
      key: keyOf(asking, this.options.key),
      rule,
      cost: this.cost(asking),
      binding,
      onStoreError: policy === 'local' ? local : policy,
    };
  }

  decide(step: Step, answer: Answer): Decision {
    const { rule } = step;
    const policy = rule === this.rule ? this.declared.policy : this.book.policyOf(rule);
    return decide(this.name, step, answer, policy);
  }

  private cost(asking: CallbackContext<Raw>): number {
    const { cost } = this.options;
    if (cost === undefined) return 1;
    const own = read(asking, 'cost', cost);
    if (isCost(own)) return own;
    if (own !== undefined) junk(asking, 'cost', own);
    return 1;
  }

  private numbers(asking: CallbackContext<Raw>): RuleVariant {
    const { limit } = this.options;
    const { context } = asking;
    const live = context.limitsOf?.(this.name);
    if (typeof limit !== 'function' && !live) return this.declared;
    const declared = this.rule.limit;
    const own = typeof limit === 'function' ? limitOf(asking, 'limit', limit) : declared;
    if (own === 0) return this.book.nobody(this.rule);
    return live
      ? this.book.livePage(own ?? declared, live, context)
      : this.book.page(own ?? declared);
  }
}

function refundStep(step: Step, answer: Answer): Step {
  const receipt: Receipt = receiptFrom(step.rule, answer);
  return { ...step, op: 'put', receipt };
}

function checkConstants<Raw>(options: RateLimitOptions<Raw>): void {
  const { cost, refundIf } = options;
  checkKeyOption(options.key);
  checkStoreError(options);
  if (cost !== undefined && typeof cost !== 'function') checkCost(cost);
  checkCallback('refundIf', refundIf);
}
