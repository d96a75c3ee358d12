/** The rules of one limiter by their numbers, for limits that differ from request to request or are changed live. */

import { policyOf } from '../algorithms/decide.js';
import type { LiveLimits } from '../contract/control.js';
import type { Policy } from '../contract/decision.js';
import type { StepContext } from '../contract/limiter.js';
import { type Rule, shareOf } from '../contract/rule.js';

/** All that follows from the numbers of a limit. */
export interface RuleVariant {
  readonly rule: Rule;
  /** The rule for this process alone, when the store fails. */
  readonly local: Rule;
  readonly policy: Policy;
}

/** Nothing is set live. */
const AS_DECLARED: LiveLimits = {};

/** How many limits that a function returned are kept ready. */
const KEPT = 256;

export class RuleVariants {
  private readonly byLimit = new Map<number, RuleVariant>();
  // Those set live go with the settings that they came with.
  private readonly liveVariants = new WeakMap<LiveLimits, Map<number, RuleVariant>>();
  private readonly policies = new WeakMap<Rule, Policy>();
  private readonly name: string;
  private readonly localShare: number;
  private readonly make: (limit: number, live: LiveLimits) => Rule;
  private closedVariant: RuleVariant | undefined;

  /** @param make the rule for a limit, all else as declared or set live; throws where the two are no rule */
  constructor(name: string, localShare: number, make: (limit: number, live: LiveLimits) => Rule) {
    this.name = name;
    this.localShare = localShare;
    this.make = make;
  }

  /** The variant for a limit, all else as declared. */
  declared(limit: number): RuleVariant {
    return this.find(this.byLimit, limit, AS_DECLARED);
  }

  /** The variant for a limit of 0, whatever is set live: a guard refuses by its rule, which no store sees. */
  nobody(declared: Rule): RuleVariant {
    this.closedVariant ??= variantOf(this.name, declared.logic.closed(declared), 1);
    return this.closedVariant;
  }

  /** The variant for a limit with what was set live; as declared, and a fault, where the two together are no rule. */
  live(limit: number, live: LiveLimits, context: Pick<StepContext, 'fault'>): RuleVariant {
    try {
      let variants = this.liveVariants.get(live);
      if (!variants) {
        variants = new Map();
        this.liveVariants.set(live, variants);
      }
      return this.find(variants, limit, live);
    } catch (error) {
      context.fault({ limiter: this.name, source: 'control', error });
      return this.declared(limit);
    }
  }

  /** What is told of a rule that a variant has. */
  policyOf(rule: Rule): Policy {
    return this.policies.get(rule) ?? policyOf(this.name, rule);
  }

  private find(variants: Map<number, RuleVariant>, limit: number, live: LiveLimits): RuleVariant {
    let variant = variants.get(limit);
    if (!variant) {
      const rule = this.make(limit, live);
      variant = variantOf(this.name, rule, this.localShare);
      if (variants.size >= KEPT) variants.clear();
      variants.set(limit, variant);
      this.policies.set(rule, variant.policy);
    }
    return variant;
  }
}

function variantOf(name: string, rule: Rule, localShare: number): RuleVariant {
  return { rule, local: shareOf(rule, localShare), policy: policyOf(name, rule) };
}
