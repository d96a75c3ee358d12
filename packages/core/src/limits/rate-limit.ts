import { decideStep } from '../algorithms/decide.js';
import { receiptFrom } from '../algorithms/receipt.js';
import { checkName } from '../base/checks.js';
import { isThenable } from '../base/host.js';
import type { LiveLimits } from '../contract/control.js';
import type { RuleVariant } from '../contract/control-link.js';
import type { Decision, Mode } from '../contract/decision.js';
import type { RequestOutcome, StepsBack, StoredLimiter } from '../contract/limiter.js';
import type { LimiterTurn, StepContext } from '../contract/limiter-turn.js';
import { type GuardHooks, meteredOf } from '../contract/metered-cost.js';
import type { Notice } from '../contract/observer.js';
import type { KeyParts, LimitRequest, Per, Plan } from '../contract/request.js';
import type { Answer, Rule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import { type CallbackContext, costFrom, isYes, keyFrom, readOption } from './callbacks.js';
import { keyNotices } from './key-notices.js';
import { noticesOn } from './limiter-notices.js';
import { checkMode, checkShare } from './limiter-options.js';
import { checkCostPasses, checkRateLimit, type RateLimitOptions } from './rate-limit-options.js';
import { nameOf, ruleFrom } from './rule-options.js';
import { RuleVariants } from './rule-variants.js';

/**
 * Limits the units that each key may use per window. Requests above the limit get a 429. The default algorithm is the
 * token bucket of Stripe's request rate limiter (P. Tarjan, "Scaling your API with rate limiters", 2017), exact to the
 * microsecond.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_WINDOW_INVALID`, `SPW_BURST_INVALID`, `SPW_COST_INVALID`,
 * `SPW_ALGORITHM_INVALID`, `SPW_NAME_INVALID`, `SPW_KEY_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
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
  /** The option `status`, for rejections by the limit and by a limit of 0, not for errors and blocked keys. */
  readonly denial: Pick<Decision, 'status'> | undefined;
  readonly onStoreError: StoredLimiter['onStoreError'];
  /** Set by a meter, which also sets {@link finish} and {@link complete}. */
  declare readonly begin: StoredLimiter<Raw>['begin'];
  readonly finish: StoredLimiter<Raw>['finish'];
  readonly isKeyed: boolean;
  readonly notices: readonly Notice[];
  readonly rateOptions: RateLimitOptions<Raw>;
  private readonly variants: RuleVariants<RateLimitOptions<Raw>>;
  private readonly declared: RuleVariant<RateLimitOptions<Raw>>;
  declare private readonly complete: GuardHooks<Raw>['complete'] | undefined;

  constructor(options: RateLimitOptions<Raw>) {
    checkRateLimit(options);
    this.rateOptions = options;
    this.name = checkName(nameOf(options));
    this.named = options.name !== undefined;
    this.mode = checkMode(options.mode);
    this.share = checkShare(options.share);
    this.denial = options.status ? { status: options.status } : undefined;
    this.onStoreError = options.onStoreError;
    this.variants = new RuleVariants(this.name, options.localShare ?? 1, options, ruleFrom);
    this.declared = this.variants.declared;
    this.rule = this.declared.rule;
    if (!options.plan) checkCostPasses(options.cost, this.rule);
    const { refundIf, cost } = options;
    this.finish = refundIf && refunding(this.name, refundIf);
    Object.assign(this, meteredOf<Raw>(cost)?.inGuard(options));
    this.isKeyed = typeof options.key === 'function';
    this.notices = [...keyNotices(this.name, options.key), ...noticesOn(this.name, options.window)];
  }

  step(
    request: LimitRequest<Raw>,
    binding: boolean,
    context: StepContext,
    live?: LiveLimits,
  ): Step | Promise<Step> {
    const { rateOptions: options } = this;
    const asking = { limiter: this.name, request, context };
    const plan = readOption(asking, 'plan', options.plan);
    const key = readOption(asking, 'key', options.key);
    const cost = readOption(asking, 'cost', options.cost);
    const by = this.rule.logic.givenBy?.(options);
    const given = by && readOption(asking, ...by);
    if (!isThenable(plan) && !isThenable(key) && !isThenable(cost) && !isThenable(given)) {
      return this.stepOf(asking, binding, live, plan, key, cost, given);
    }
    return Promise.all([plan, key, cost, given]).then((own) =>
      this.stepOf(asking, binding, live, ...own),
    );
  }

  decide(step: Step, answer: Answer): Decision {
    const { rule } = step;
    const policy = rule === this.rule ? this.declared.policy : this.variants.policyOf(rule);
    const decision = decideStep(this.name, step, answer, policy);
    const { denial } = this;
    return denial && decision.reason && decision.outcome !== 'error'
      ? { ...decision, ...denial }
      : decision;
  }

  private stepOf(
    asking: CallbackContext<Raw> & { readonly context: StepContext },
    binding: boolean,
    live: LiveLimits | undefined,
    plan: OwnPlan,
    key: KeyParts,
    cost: number | undefined,
    given: unknown,
  ): Step {
    const { context } = asking;
    const counted = keyFrom(asking, key);
    const { rule, local } = this.variants.variantFor(counted, plan, live, context.live, context);
    const policy = this.rateOptions.onStoreError ?? context.onStoreError;
    const step: Step = {
      op: 'take',
      limiter: context.countedAs ?? this.name,
      key: counted,
      rule,
      cost: costFrom(asking, cost),
      binding: binding && !rule.soft,
      onStoreError: policy === 'local' ? local : policy,
    };
    const own = given === undefined ? given : { period: given, item: given };
    const completed = rule.logic.complete?.(step, own, this.name, context) ?? step;
    return this.complete?.(completed, asking.request) ?? completed;
  }
}

type OwnPlan = Plan | null | undefined;

function refunding<Raw>(
  limiter: string,
  refundIf: NonNullable<RateLimitOptions<Raw>['refundIf']>,
): (turn: LimiterTurn<Raw>, outcome: RequestOutcome, context: StepContext) => StepsBack {
  return ({ request, step: charged, answer }, outcome, context) => {
    const asking = { limiter, request, context };
    const stepsIf = (verdict: unknown): readonly Step[] | undefined => {
      if (!isYes(asking, 'refundIf', verdict)) return undefined;
      const step = charged as Step;
      return [{ ...step, op: 'put', receipt: receiptFrom(step.rule, answer as Answer, step.cost) }];
    };
    const verdict = readOption(asking, 'refundIf', () => refundIf(request, outcome));
    return isThenable(verdict) ? verdict.then(stepsIf) : stepsIf(verdict);
  };
}
