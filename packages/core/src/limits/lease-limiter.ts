/** What limits on requests in progress have in common: a permit for each, held under a lease in the store. */

import { decide } from '../algorithms/decide.js';
import { checkName, durationBetween } from '../base/checks.js';
import type { Duration } from '../base/duration.js';
import { type HintOptions, hints } from '../base/hint.js';
import type { Decision } from '../contract/decision.js';
import type { StepContext, StoredLimiter } from '../contract/limiter.js';
import type { Mode } from '../contract/mode.js';
import type { LimitRequest, Per } from '../contract/request.js';
import { makeLeasesRule, type Rule } from '../contract/rule.js';
import type { Answer, Step } from '../contract/store.js';
import {
  type CallbackContext,
  checkMode,
  checkShare,
  checkStoreError,
  declaredLimit,
  limitOf,
  type StoreErrorOptions,
} from './callbacks.js';
import { newLeaseId } from './lease-id.js';
import { type RuleVariant, RuleVariants } from './rule-variants.js';

export interface LeaseOptions<Raw = unknown> extends StoreErrorOptions, HintOptions {
  /**
   * How long a permit is held without a sign of life, 1 s to 24 h: after a crash it is free again so much later. A
   * running
   * process renews the leases of its requests before a third of it is over, however long they take. Default `'60s'`.
   */
  readonly lease?: Duration | undefined;
  /** `enforce` (default), `shadow` (dark launch) or `off` (kill switch). */
  readonly mode?: Per<Raw, Mode> | undefined;
  /**
   * Roll-out: the share of keys for which the limit is enforced, 0 to 1, always the same ones; for the others it is in
   * shadow. Default 1.
   */
  readonly share?: number | undefined;
}

/** What one kind of such a limit has of its own. */
export interface LeaseKind<Raw> {
  readonly name: string;
  readonly named: boolean;
  /** Why it refuses. */
  readonly reason: 'concurrency' | 'capacity';
  readonly limitOption: 'limit' | 'capacity';
  readonly limit: Per<Raw, number>;
  readonly defaultLimit: number | undefined;
  readonly reserve: number;
  /** What the class of critical requests is called. */
  readonly criticalClass?: string | undefined;
  keyOf(asking: CallbackContext<Raw>): string;
  isCritical(asking: CallbackContext<Raw>): boolean;
}

export class LeaseLimiter<Raw> implements StoredLimiter<Raw> {
  readonly kind = 'stored';
  readonly name: string;
  readonly named: boolean;
  readonly mode: Per<Raw, Mode>;
  readonly rule: Rule;
  readonly share: number;
  readonly onStoreError: StoredLimiter['onStoreError'];
  private readonly book: RuleVariants;
  private readonly declared: number;
  private readonly hint: () => number;
  private readonly of: LeaseKind<Raw>;
  private readonly options: LeaseOptions<Raw>;

  constructor(of: LeaseKind<Raw>, options: LeaseOptions<Raw>) {
    this.of = of;
    this.options = options;
    this.name = checkName(of.name);
    this.named = of.named;
    this.mode = checkMode(options.mode);
    checkStoreError(options);
    this.onStoreError = options.onStoreError;
    this.hint = hints(options);
    this.declared = declaredLimit(of.limitOption, of.limit, of.defaultLimit);
    const leaseUs = leaseOf(options.lease);
    this.share = checkShare(options.share);
    this.book = new RuleVariants(this.name, options.localShare ?? 1, ({ limit }) => {
      const checked = declaredLimit(of.limitOption, limit, undefined);
      return makeLeasesRule(checked, leaseUs, of.reserve);
    });
    this.rule = this.book.page(this.declared).rule;
  }

  step(request: LimitRequest<Raw>, binding: boolean, context: StepContext): Step {
    const { of, name: limiter } = this;
    const asking = { limiter, request, context };
    const critical = of.isCritical(asking);
    const { rule, local } = this.numbers(asking, critical);
    const policy = this.options.onStoreError ?? context.onStoreError;
    return {
      op: 'take',
      limiter: context.countedAs ?? limiter,
      key: of.keyOf(asking),
      rule,
      cost: 1,
      binding,
      lease: { id: newLeaseId(), critical },
      onStoreError: policy === 'local' ? local : policy,
    };
  }

  private numbers(asking: CallbackContext<Raw>, critical: boolean): RuleVariant {
    const { of, book, rule } = this;
    let limit = limitOf(asking, of.limitOption, of.limit) ?? this.declared;
    // Who is critical is counted and never refused: under the numbers that were declared, where there is room for
    // nobody.
    if (limit === 0 && critical) limit = this.declared;
    if (limit === 0) return book.nobody(rule);
    const live = asking.context.limitsOf?.(this.name);
    return live ? book.livePage(limit, live, asking.context) : book.page(limit);
  }

  decide(step: Step, answer: Answer): Decision {
    const { reason } = this.of;
    // What a service can carry is nobody else's business: no policy is told.
    const policy = reason === 'concurrency' ? this.book.policyOf(step.rule) : undefined;
    const decision = decide(this.name, step, answer, policy, reason);
    if (step.lease?.critical) return { ...decision, priority: this.of.criticalClass };
    return decision.reason === reason ? { ...decision, retryAfterMs: this.hint() } : decision;
  }
}

function leaseOf(lease: Duration = '60s'): number {
  return durationBetween('lease', lease, '1s', '24h');
}
