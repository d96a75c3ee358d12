import { policyOf } from '../algorithms/decide.js';
import { checkName } from '../base/checks.js';
import { Junk } from '../base/junk.js';
import type { LiveLimits } from '../contract/control.js';
import type { LiveLink, LiveVariants, Numbers, RuleVariant } from '../contract/control-link.js';
import type { Policy } from '../contract/decision.js';
import type { Fault } from '../contract/observer.js';
import type { Plan } from '../contract/request.js';
import { type Rule, shareOf } from '../contract/rule.js';

interface FaultSink {
  fault(fault: Fault): void;
}

const MAX_PLANS = 256;

export class RuleVariants<Declared extends Numbers> implements LiveVariants<Declared> {
  readonly declared: RuleVariant<Declared>;
  private readonly plans = new Map<string, RuleVariant<Declared>>();
  private readonly policies = new WeakMap<Rule, Policy>();
  readonly name: string;
  private readonly localShare: number;
  private readonly make: (numbers: Declared) => Rule;

  constructor(
    name: string,
    localShare: number,
    declared: Declared,
    make: (numbers: Declared) => Rule,
  ) {
    this.name = name;
    this.localShare = localShare;
    this.make = make;
    this.declared = this.variantOf(make(declared), declared, undefined);
  }

  /**
   * Chooses the rule for a caller. Live limits of the key take precedence, then the plan, then the live limits of the
   * limiter. A live `factor`, or live limits with `allPlans`, change plans too. A plan's limit of 0 stays 0, unless the
   * key has a live `limit`. Invalid numbers are reported as a fault and ignored.
   *
   * @param source the `source` of faults in the plan
   */
  variantFor(
    key: string,
    plan: Plan | null | undefined,
    limits: LiveLimits | undefined,
    link: LiveLink | undefined,
    sink: FaultSink,
    source: Fault['source'] = 'plan',
  ): RuleVariant<Declared> {
    const planned = plan ? this.planned(plan, sink, source) : this.declared;
    return link ? link.variantOf(this, planned, key, limits) : planned;
  }

  withNumbers(numbers: Declared, { plan }: RuleVariant<Declared>): RuleVariant<Declared> {
    return this.variantOf(this.make(numbers), numbers, plan);
  }

  policyOf(rule: Rule): Policy {
    return this.policies.get(rule) ?? policyOf(this.name, rule);
  }

  private planned(plan: Plan, sink: FaultSink, source: Fault['source']): RuleVariant<Declared> {
    try {
      const { name, limit, window, burst } = plan;
      // The text includes the types, because '100' is an invalid limit although it prints like 100. No valid part
      // contains a newline.
      const units = `${typeof limit}${limit}\n${typeof burst}${burst}`;
      const text = `${units}\n${typeof window}${window}\n${typeof name}${name}`;
      const known = this.plans.get(text);
      if (known) return known;
      if ((name ?? limit ?? window ?? burst) == null) {
        throw new Junk(`${source} of limiter "${this.name}"`, plan);
      }
      const { numbers, rule: declared } = this.declared;
      declared.logic.checkPlan?.(plan);
      const own: Declared = {
        ...numbers,
        limit: limit ?? numbers.limit,
        window: window ?? numbers.window,
        burst: burst ?? numbers.burst,
      };
      const rule = limit === 0 ? closed(this.make({ ...own, limit: 1 })) : this.make(own);
      const variant = this.variantOf(rule, own, name == null ? undefined : checkName(name));
      if (this.plans.size >= MAX_PLANS) this.plans.clear();
      this.plans.set(text, variant);
      return variant;
    } catch (error) {
      sink.fault({ limiter: this.name, source, error });
      return this.declared;
    }
  }

  private variantOf(
    rule: Rule,
    numbers: Declared,
    plan: string | undefined,
  ): RuleVariant<Declared> {
    const declared = policyOf(this.name, rule);
    const policy = plan === undefined ? declared : { ...declared, plan };
    this.policies.set(rule, policy);
    const local = numbers.limit === 0 ? rule : shareOf(rule, this.localShare);
    return { rule, local, policy, numbers, plan };
  }
}

/** For plans that include nothing. With `overage`, requests are still counted; without, the store isn't called. */
function closed(rule: Rule): Rule {
  const none = { ...(rule.soft ?? rule), limit: 0, burst: 0, tolUs: 0 };
  return rule.soft ? { ...rule, soft: none } : none;
}
