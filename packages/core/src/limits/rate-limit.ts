/** The request rate limiter: so many units per key and window. */

import { decide } from '../algorithms/decide.js';
import { receiptFrom } from '../algorithms/receipt.js';
import { checkOptions } from '../base/check-shapes.js';
import { checkCallback, checkCost, checkName } from '../base/checks.js';
import type { Duration } from '../base/duration.js';
import { isThenable } from '../base/host.js';
import type { Answer } from '../contract/answer.js';
import type { LiveLimits } from '../contract/control.js';
import type { Decision } from '../contract/decision.js';
import type {
  LimiterTurn,
  RequestOutcome,
  StepContext,
  StepsBack,
  StoredLimiter,
} from '../contract/limiter.js';
import type { Mode } from '../contract/mode.js';
import type { LimitRequest, Per, PerLater } from '../contract/request.js';
import type { Algorithm, Rule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import { type CallbackContext, costFrom, isYes, keyFrom, limitFrom, read } from './callbacks.js';
import {
  checkKeyOption,
  checkMode,
  checkShare,
  checkStoreError,
  declaredLimit,
  type StoreErrorOptions,
} from './limiter-options.js';
import { nameOf, ruleFrom } from './rule-options.js';
import { type RuleVariant, RuleVariants } from './rule-variants.js';

export interface RateLimitOptions<Raw = unknown> extends StoreErrorOptions {
  /**
   * Identifies the limit in headers, problem bodies, metrics and the store: 1 to 64 printable ASCII characters.
   * Required when the guard is given a store. Default: the numbers, as in `100-per-1m`.
   */
  readonly name?: string | undefined;
  /**
   * Units per window, an integer from 1 to 1,000,000,000, or a function of the request, which may be async (then with
   * `defaultLimit`). 0 from a function lets nobody pass (`never`), whatever is set live, and asks no store.
   */
  readonly limit: PerLater<Raw, number>;
  /** The limit that counts when the `limit` function fails or returns none. Required with a function. */
  readonly defaultLimit?: number | undefined;
  /** `'1m'`, or milliseconds: from 1 ms to 400 days. */
  readonly window: Duration;
  /** Units at once, for `token-bucket` only. Default: the limit. */
  readonly burst?: number | undefined;
  /** Default `token-bucket`. */
  readonly algorithm?: Algorithm | undefined;
  /**
   * What is counted apart: a user, a tenant, an API key; the function may be async. Default, and where it is empty,
   * longer than 8,192 units or fails: the client's address.
   */
  readonly key?: PerLater<Raw, string | undefined> | undefined;
  /** Units one request takes, an integer from 0, or a function of the request, which may be async. Default 1. */
  readonly cost?: PerLater<Raw, number> | undefined;
  /** `enforce` (default), `shadow` (dark launch) or `off` (kill switch). */
  readonly mode?: Per<Raw, Mode> | undefined;
  /**
   * Roll-out: the share of keys for which the limit is enforced, 0 to 1, always the same ones; for the others it is in
   * shadow. Default 1.
   */
  readonly share?: number | undefined;
  /**
   * After the response: whether to give the cost back. `({ status = 500, aborted }) => status < 400 && !aborted` counts
   * failures only; beware that a client can go away before it is answered. The request is the one that was judged:
   * where its `raw` leads to what a handler found out, such as `res.locals`, it can say what the status does not. Only
   * `true`, or a promise of it, gives back; anything but `true`, `false` and `undefined` is a fault.
   */
  readonly refundIf?:
    | ((
        outcome: RequestOutcome,
        request: LimitRequest<Raw>,
      ) => boolean | undefined | PromiseLike<boolean | undefined>)
    | undefined;
}

/**
 * Limits how much each key may do per window; a request beyond it is answered with 429. The default algorithm is the
 * token bucket of Stripe's request rate limiter (P. Tarjan, "Scaling your API with rate limiters", 2017), exact to the
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
  readonly finish: StoredLimiter<Raw>['finish'];
  private readonly options: RateLimitOptions<Raw>;
  private readonly variants: RuleVariants;
  private readonly declared: RuleVariant;

  constructor(options: RateLimitOptions<Raw>) {
    checkOptions(options);
    this.options = options;
    const limit = declaredLimit('limit', options.limit, options.defaultLimit);
    this.name = checkName(nameOf({ ...options, limit }));
    this.named = options.name !== undefined;
    this.mode = checkMode(options.mode);
    checkConstants(options);
    this.share = checkShare(options.share);
    this.onStoreError = options.onStoreError;
    this.variants = new RuleVariants(this.name, options.localShare ?? 1, (numbers) =>
      ruleFrom({ ...options, ...numbers, limit: numbers.limit }),
    );
    this.declared = this.variants.declared(limit);
    this.rule = this.declared.rule;
    const { refundIf } = options;
    this.finish = refundIf && refunding(this.name, refundIf);
  }

  step(
    request: LimitRequest<Raw>,
    binding: boolean,
    context: StepContext,
    live?: LiveLimits,
  ): Step | Promise<Step> {
    const { options } = this;
    const asking = { limiter: this.name, request, context };
    const limit = read(asking, 'limit', options.limit);
    const key = read(asking, 'key', options.key);
    const cost = read(asking, 'cost', options.cost);
    if (!isThenable(limit) && !isThenable(key) && !isThenable(cost)) {
      return this.stepOf(asking, binding, live, limit, key, cost);
    }
    return Promise.all([limit, key, cost]).then((own) =>
      this.stepOf(asking, binding, live, ...own),
    );
  }

  decide(step: Step, answer: Answer): Decision {
    const { rule } = step;
    const policy = rule === this.rule ? this.declared.policy : this.variants.policyOf(rule);
    return decide(this.name, step, answer, policy);
  }

  private stepOf(
    asking: CallbackContext<Raw> & { readonly context: StepContext },
    binding: boolean,
    live: LiveLimits | undefined,
    limit: number | undefined,
    key: string | undefined,
    cost: number | undefined,
  ): Step {
    const { context } = asking;
    const { rule, local } = this.variant(asking, limit, live);
    const policy = this.options.onStoreError ?? context.onStoreError;
    return {
      op: 'take',
      limiter: context.countedAs ?? this.name,
      key: keyFrom(asking, key),
      rule,
      cost: costFrom(asking, cost),
      binding,
      onStoreError: policy === 'local' ? local : policy,
    };
  }

  private variant(
    asking: CallbackContext<Raw>,
    own: number | undefined,
    live: LiveLimits | undefined,
  ): RuleVariant {
    const { declared, variants } = this;
    if (own === declared.rule.limit && !live) return declared;
    const limit = limitFrom(asking, 'limit', own) ?? declared.rule.limit;
    if (limit === 0) return variants.nobody(this.rule);
    return live ? variants.live(limit, live, asking.context) : variants.declared(limit);
  }
}

/** Gives the cost back where `refundIf` says so. */
function refunding<Raw>(
  limiter: string,
  refundIf: NonNullable<RateLimitOptions<Raw>['refundIf']>,
): (turn: LimiterTurn<Raw>, outcome: RequestOutcome, context: StepContext) => StepsBack {
  return ({ request, step, answer }, outcome, context) => {
    const asking = { limiter, request, context };
    const stepsIf = (verdict: unknown): readonly Step[] | undefined =>
      isYes(asking, 'refundIf', verdict) ? [refundOf(step as Step, answer as Answer)] : undefined;
    const verdict = read(asking, 'refundIf', () => refundIf(outcome, request));
    return isThenable(verdict) ? verdict.then(stepsIf) : stepsIf(verdict);
  };
}

function refundOf(step: Step, answer: Answer): Step {
  return { ...step, op: 'put', receipt: receiptFrom(step.rule, answer, step.cost) };
}

function checkConstants<Raw>(options: RateLimitOptions<Raw>): void {
  const { cost, refundIf } = options;
  checkKeyOption(options.key);
  checkStoreError(options);
  if (cost !== undefined && typeof cost !== 'function') checkCost(cost);
  checkCallback('refundIf', refundIf);
}
