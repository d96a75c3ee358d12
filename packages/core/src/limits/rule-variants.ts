/** The rules of one limiter: for its declared numbers, for plans, and for what is set live. */

import { policyOf } from '../algorithms/decide.js';
import { checkName } from '../base/checks.js';
import { Junk } from '../base/junk.js';
import type { LiveLimits } from '../contract/control.js';
import type { LiveLink, Numbers } from '../contract/control-link.js';
import type { Policy } from '../contract/decision.js';
import type { Fault } from '../contract/observer.js';
import type { Plan } from '../contract/request.js';
import { type Rule, shareOf } from '../contract/rule.js';

/** All that follows from the numbers of a limit. */
export interface RuleVariant {
  readonly rule: Rule;
  /** The rule for this process alone, when the store fails. */
  readonly local: Rule;
  readonly policy: Policy;
}

interface Variant<Declared extends Numbers> extends RuleVariant {
  readonly numbers: Declared;
  readonly plan: string | undefined;
}

/** Where mistakes in plans and live settings are told. */
interface FaultSink {
  fault(fault: Fault): void;
}

/** How many variants are kept ready, of plans and for each object of live settings. */
const KEPT = 256;

export class RuleVariants<Declared extends Numbers> {
  readonly declared: RuleVariant;
  private readonly base: Variant<Declared>;
  private readonly plans = new Map<string, Variant<Declared>>();
  // Live variants go with the settings that they came with.
  private readonly live = new WeakMap<LiveLimits, Map<RuleVariant, RuleVariant>>();
  private readonly policies = new WeakMap<Rule, Policy>();
  private readonly name: string;
  private readonly localShare: number;
  private readonly make: (numbers: Declared) => Rule;

  /** @param make the rule for numbers; throws where they make none */
  constructor(
    name: string,
    localShare: number,
    declared: Declared,
    make: (numbers: Declared) => Rule,
  ) {
    this.name = name;
    this.localShare = localShare;
    this.make = make;
    this.base = this.variantOf(make(declared), declared, undefined);
    this.declared = this.base;
  }

  /**
   * The variant for a caller. Its key's override comes first, then its plan, then the live numbers of the limiter. A
   * `factor` multiplies the plan. What makes no rule is a fault and does not apply.
   *
   * @param source of faults in the plan
   */
  variantFor(
    key: string,
    plan: Plan | null | undefined,
    limits: LiveLimits | undefined,
    link: LiveLink | undefined,
    sink: FaultSink,
    source: Fault['source'] = 'plan',
  ): RuleVariant {
    const { base } = this;
    if (!plan && !link) return base;
    const planned = plan ? this.planned(plan, sink, source) : base;
    if (!link) return planned;
    const own = link.limitsOf?.(this.name, key);
    // Only a limit of the key itself lets a caller pass whose plan has none.
    if (planned.rule.limit === 0 && own?.limit === undefined) return planned;
    const live = own ?? (planned === base || reachesPlans(limits) ? limits : undefined);
    return live ? this.changed(planned, live, link, sink) : planned;
  }

  /** The policy of a rule that a variant has. */
  policyOf(rule: Rule): Policy {
    return this.policies.get(rule) ?? policyOf(this.name, rule);
  }

  private planned(plan: Plan, sink: FaultSink, source: Fault['source']): Variant<Declared> {
    try {
      const { name, limit, window, burst } = plan;
      // With the types: '100' is no limit, though it reads like one. No valid part contains a newline.
      const units = `${typeof limit}${limit}\n${typeof burst}${burst}`;
      const text = `${units}\n${typeof window}${window}\n${typeof name}${name}`;
      const known = this.plans.get(text);
      if (known) return known;
      if ((name ?? limit ?? window ?? burst) == null) throw new Junk(this.sourceOf(source), plan);
      const { numbers } = this.base;
      const own: Declared = {
        ...numbers,
        limit: limit ?? numbers.limit,
        window: window ?? numbers.window,
        burst: burst ?? numbers.burst,
      };
      const rule = limit === 0 ? this.closed(own) : this.make(own);
      const variant = this.variantOf(rule, own, name == null ? undefined : checkName(name));
      keep(this.plans, text, variant);
      return variant;
    } catch (error) {
      sink.fault({ limiter: this.name, source, error });
      return this.base;
    }
  }

  private changed(
    from: Variant<Declared>,
    live: LiveLimits,
    link: LiveLink,
    sink: FaultSink,
  ): RuleVariant {
    try {
      let variants = this.live.get(live);
      if (!variants) {
        variants = new Map();
        this.live.set(live, variants);
      }
      let variant = variants.get(from);
      if (!variant) {
        const numbers = link.liveNumbers(from.numbers, live);
        variant = this.variantOf(this.make(numbers), numbers, from.plan);
        keep(variants, from, variant);
      }
      return variant;
    } catch (error) {
      sink.fault({ limiter: this.name, source: 'control', error });
      return from;
    }
  }

  private variantOf(rule: Rule, numbers: Declared, plan: string | undefined): Variant<Declared> {
    const declared = policyOf(this.name, rule);
    const policy = plan === undefined ? declared : { ...declared, plan };
    this.policies.set(rule, policy);
    const local = rule.limit === 0 ? rule : shareOf(rule, this.localShare);
    return { rule, local, policy, numbers, plan };
  }

  /** The rule of a plan whose limit is 0. No store sees it, because nobody passes. */
  private closed(numbers: Declared): Rule {
    const rule = this.make({ ...numbers, limit: 1 });
    return rule.logic.closed(rule);
  }

  private sourceOf(source: string): string {
    return `${source} of limiter "${this.name}"`;
  }
}

/** Whether live numbers apply to callers with a plan. */
function reachesPlans(limits: LiveLimits | undefined): boolean {
  return limits?.factor !== undefined || limits?.allPlans === true;
}

function keep<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  if (map.size >= KEPT) map.clear();
  map.set(key, value);
}
