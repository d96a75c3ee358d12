/** The numbers in force for a pace or for permits, from the declaration, the plan of the key, or live settings. */

import type { Duration, LiveLimits } from '@spillway/core';
import { mustBe } from '@spillway/core/adapter';
import { liveNumbers } from '@spillway/core/control';
import { type DirectClient, getOrMake, isThenable, type LiveNumbers } from '@spillway/core/direct';
import type { Rule, StoreErrorPolicy } from '@spillway/core/store';
import type { ShaperPlan } from './shaper-options.js';

export interface RuleNumbers {
  readonly limit: number;
  readonly window?: Duration | undefined;
  readonly burst?: number | undefined;
}

export interface RuleInForce<R extends Rule> {
  readonly rule: R;
  readonly onStoreError: StoreErrorPolicy;
}

/**
 * How to find a rule's numbers for a key: `of` looks up the plan of the key, and `pick` takes the numbers from the
 * plan.
 */
interface Plan {
  readonly of: (key: string) => ShaperPlan | undefined;
  readonly pick: (plan: ShaperPlan) => Partial<RuleNumbers> | undefined;
}

const MAX_PLANS = 256;

export class LiveRule<R extends Rule> {
  readonly name: string;
  readonly declared: RuleInForce<R>;
  private readonly numbers: RuleNumbers;
  private readonly make: (numbers: RuleNumbers) => R;
  private readonly plan: Plan | undefined;
  private readonly client: DirectClient;
  private readonly live = new WeakMap<LiveLimits, RuleInForce<R>>();
  private readonly planned = new Map<string, RuleInForce<R>>();

  constructor(
    name: string,
    numbers: RuleNumbers,
    make: (numbers: RuleNumbers) => R,
    plan: Plan | undefined,
    client: DirectClient,
  ) {
    this.name = name;
    this.numbers = numbers;
    this.make = make;
    this.plan = plan;
    this.client = client;
    this.declared = this.withPolicy(make(numbers));
  }

  /** The rule for keys that have neither a plan nor an override. */
  get now(): RuleInForce<R> {
    return this.withLimits(this.client.control?.settingsOf(this.name)?.limits);
  }

  /**
   * The rule for a key. As in guards, an override of the key comes first, then its plan, then live numbers for all
   * keys. Of these live numbers, a `factor`, or numbers with `allPlans`, also change plans.
   */
  ruleFor(key: string): RuleInForce<R> {
    const { control } = this.client;
    if (!control && !this.plan) return this.declared;
    const forAll = control?.settingsOf(this.name)?.limits;
    const own = control?.limitsOf?.(this.name, key);
    const plan = this.plan && this.readPlan(this.plan, key);
    if (!plan) return this.withLimits(own ?? forAll);
    const appliesToPlans = forAll?.factor !== undefined || forAll?.allPlans;
    const limits = own ?? (appliesToPlans ? forAll : undefined);
    return limits ? this.changedRule(plan.numbers, limits) : plan.inForce;
  }

  private withLimits(limits: LiveLimits | undefined): RuleInForce<R> {
    if (limits === undefined) return this.declared;
    return getOrMake(this.live, limits, () => this.changedRule(this.numbers, limits));
  }

  /**
   * Returns the numbers of the plan for a key; undefined if there is no plan. If the plan fails or its numbers are
   * invalid, reports a fault and returns undefined.
   */
  private readPlan(
    { of, pick }: Plan,
    key: string,
  ): { readonly numbers: RuleNumbers; readonly inForce: RuleInForce<R> } | undefined {
    try {
      const given: unknown = of(key) ?? undefined;
      if (given === undefined) return undefined;
      if (typeof given !== 'object' || isThenable(given)) {
        throw mustBe('plan', 'a function that returns an object or undefined', given);
      }
      const plan = pick(given as ShaperPlan);
      if (!plan) return undefined;
      const { limit = this.numbers.limit, window = this.numbers.window } = plan;
      const numbers = { limit, window, burst: plan.burst ?? this.numbers.burst };
      // JSON, because a template would not distinguish the text '10' from the number 10.
      const id = JSON.stringify([limit, window, numbers.burst]);
      const inForce = getOrMake(this.planned, id, () => {
        const made = this.withPolicy(this.make(numbers));
        if (this.planned.size >= MAX_PLANS) this.planned.clear();
        return made;
      });
      return { numbers, inForce };
    } catch (error) {
      this.reportFault('plan', error);
      return undefined;
    }
  }

  /** Returns the rule with the live numbers. If they are invalid, reports a fault and returns the declared rule. */
  private changedRule(numbers: RuleNumbers, limits: LiveLimits): RuleInForce<R> {
    try {
      return this.withPolicy(this.make(this.changed(numbers, limits)));
    } catch (error) {
      this.reportFault('control', error);
      return this.declared;
    }
  }

  private changed({ burst, limit, window }: RuleNumbers, limits: LiveLimits): RuleNumbers {
    const declared = { limit, ...(window !== undefined && { window }) };
    const changed = liveNumbers<LiveNumbers & Pick<LiveLimits, 'window'>>(declared, limits);
    if (changed.burst !== undefined) this.reportFault('control', liveBurst(changed.burst));
    return { limit: changed.limit, window: changed.window ?? window, burst };
  }

  private withPolicy(rule: R): RuleInForce<R> {
    return { rule, onStoreError: this.client.policyFor(rule) };
  }

  private reportFault(source: 'control' | 'plan', error: unknown): void {
    this.client.fault({ limiter: this.name, source, error });
  }
}

function liveBurst(burst: number): Error {
  const what = 'left out for a shaper, because jobs that wait may cost as much as the declared one';
  return mustBe('burst', what, burst, 'SPW_BURST_INVALID');
}
