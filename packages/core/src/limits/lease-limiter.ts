import { decideStep } from '../algorithms/decide.js';
import { makeLeasesRule } from '../algorithms/leases.js';
import { checkLimit, checkName, durationBetween } from '../base/checks.js';
import type { Duration } from '../base/duration.js';
import { mustBe } from '../base/errors.js';
import { type HintOptions, hints } from '../base/hint.js';
import { isThenable } from '../base/host.js';
import type { LiveLimits } from '../contract/control.js';
import type { Numbers } from '../contract/control-link.js';
import type { Decision, Mode } from '../contract/decision.js';
import type { StoredLimiter } from '../contract/limiter.js';
import type { StepContext } from '../contract/limiter-turn.js';
import type { Notice } from '../contract/observer.js';
import type {
  KeyOption,
  KeyParts,
  LimitRequest,
  Per,
  Plan,
  PlanOption,
} from '../contract/request.js';
import type { Answer, Rule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import { type CallbackContext, keyFrom, readOption } from './callbacks.js';
import { keyNotices } from './key-notices.js';
import { noticesOn } from './limiter-notices.js';
import {
  checkMode,
  checkShare,
  checkStoreError,
  type StoreErrorOptions,
} from './limiter-options.js';
import { RuleVariants } from './rule-variants.js';

export interface LeaseOptions<Raw = unknown> extends StoreErrorOptions, HintOptions {
  /**
   * How long permits can stay taken after their process crashed: 1 s to 24 h. A running process renews its permits.
   * Default `'60s'`.
   */
  readonly lease?: Duration | undefined;
  /** `enforce` (default), `shadow` (counts, rejects nobody) or `off` (kill switch). */
  readonly mode?: Per<Raw, Mode> | undefined;
  /**
   * For rollouts: the share of keys for which the limit is enforced, 0 to 1. Other keys are in shadow mode. Default 1.
   */
  readonly share?: number | undefined;
}

interface LeaseKind<Raw> {
  readonly name: string;
  readonly named: boolean;
  readonly reason: 'concurrency' | 'capacity';
  readonly limit: number;
  readonly plan: PlanOption<Raw> | undefined;
  readonly reserve: number;
  readonly criticalClass?: string | undefined;
  readonly key: KeyOption<Raw> | undefined;
  /** Undefined: no request is critical. */
  isCritical?(asking: CallbackContext<Raw>): boolean;
}

export class LeaseLimiter<Raw> implements StoredLimiter<Raw> {
  readonly kind = 'stored';
  readonly name: string;
  readonly named: boolean;
  readonly mode: Per<Raw, Mode>;
  readonly rule: Rule;
  readonly share: number;
  readonly onStoreError: StoredLimiter['onStoreError'];
  readonly isKeyed: boolean;
  readonly notices: readonly Notice[];
  private readonly variants: RuleVariants<Numbers>;
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
    const { lease = '60s' } = options;
    const leaseUs = durationBetween('lease', lease, '1s', '24h');
    this.share = checkShare(options.share);
    const declared = { limit: of.limit };
    this.variants = new RuleVariants<Numbers>(
      this.name,
      options.localShare ?? 1,
      declared,
      ({ limit, window, burst }) => {
        const other = window ?? burst;
        if (other !== undefined) throw mustBe('window and burst', 'left out for permits', other);
        return makeLeasesRule(
          checkLimit(of.reason === 'capacity' ? 'capacity' : 'limit', limit),
          leaseUs,
          of.reserve,
        );
      },
    );
    this.rule = this.variants.declared.rule;
    this.isKeyed = typeof of.key === 'function';
    this.notices = [...keyNotices(this.name, of.key), ...noticesOn(this.name)];
  }

  step(
    request: LimitRequest<Raw>,
    binding: boolean,
    context: StepContext,
    live?: LiveLimits,
  ): Step | Promise<Step> {
    const { reason, plan, key, isCritical } = this.of;
    const planOption = reason === 'capacity' ? 'capacity' : 'plan';
    const asking = { limiter: this.name, request, context };
    const critical = isCritical?.(asking) ?? false;
    const make = (ownPlan: Plan | null | undefined, ownKey: KeyParts): Step => {
      const counted = keyFrom(asking, ownKey);
      // Critical requests are counted, but never rejected for lack of capacity. A rule with limit 0 can't count, so for
      // a plan with limit 0, critical requests use the declared limit.
      const applied = critical && ownPlan?.limit === 0 ? undefined : ownPlan;
      const { rule, local } = this.variants.variantFor(
        counted,
        applied,
        live,
        context.live,
        context,
        planOption,
      );
      const policy = this.options.onStoreError ?? context.onStoreError;
      return {
        op: 'take',
        limiter: context.countedAs ?? this.name,
        key: counted,
        rule,
        cost: 1,
        binding,
        lease: { id: newLeaseId(), critical },
        onStoreError: policy === 'local' ? local : policy,
      };
    };
    const ownPlan = readOption(asking, planOption, plan);
    const ownKey = readOption(asking, 'key', key);
    if (!isThenable(ownPlan) && !isThenable(ownKey)) return make(ownPlan, ownKey);
    return Promise.all([ownPlan, ownKey]).then((own) => make(...own));
  }

  /** A capacity of 0 is caused by the service, not by the caller, and the capacity may rise at any time. */
  get denial(): Partial<Decision> | undefined {
    const { reason } = this.of;
    return reason === 'capacity' ? { reason, retryAfterMs: this.hint() } : undefined;
  }

  decide(step: Step, answer: Answer): Decision {
    const { reason } = this.of;
    // Rejections for lack of capacity have no policy and so no rate limit headers: clients need not know the capacity.
    const policy = reason === 'concurrency' ? this.variants.policyOf(step.rule) : undefined;
    const decision = decideStep(this.name, step, answer, policy, reason);
    if (step.lease?.critical) return { ...decision, priority: this.of.criticalClass };
    return decision.reason === reason ? { ...decision, retryAfterMs: this.hint() } : decision;
  }
}

declare const crypto: { getRandomValues(array: Uint32Array): Uint32Array };

/** Returns 96 random bits. Among 10^9 leases held at once, the probability of a collision is 10^-11. */
export function newLeaseId(): string {
  // Ids have no prefix per process, because a process that is restored twice from one snapshot must not repeat ids.
  const [a = 0, b = 0, c = 0] = crypto.getRandomValues(new Uint32Array(3));
  return `${a.toString(36)}.${b.toString(36)}.${c.toString(36)}`;
}
