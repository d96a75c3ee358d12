/**
 * The numbers of a pace or of the permits of a key: as declared, as its plan says, or as live settings have set them.
 */

import type { Duration, KeyOverride, LiveLimits } from '@spillway/core';
import { mustBe } from '@spillway/core/adapter';
import { liveNumbers } from '@spillway/core/control';
import type { DirectClient, LiveNumbers } from '@spillway/core/direct';
import type { Rule, StoreErrorPolicy } from '@spillway/core/store';

/** The numbers from which a rule is made. */
export interface RuleNumbers {
  readonly limit: number;
  readonly window?: Duration | undefined;
  readonly burst?: number | undefined;
}

/** A rule, and what decides while the store fails. */
export interface RuleInForce<R extends Rule> {
  readonly rule: R;
  readonly onStoreError: StoreErrorPolicy;
}

/** The most planned rules that are cached. */
const MAX_PLANS = 256;

export class LiveRule<R extends Rule> {
  /** Names it in the store and in live settings. */
  readonly name: string;
  readonly declared: RuleInForce<R>;
  private readonly numbers: RuleNumbers;
  private readonly make: (numbers: RuleNumbers) => R;
  private readonly planOf: ((key: string) => Partial<RuleNumbers> | undefined) | undefined;
  private readonly client: DirectClient;
  /** Made of live limits. */
  private readonly live = new WeakMap<LiveLimits, RuleInForce<R>>();
  private readonly planned = new Map<string, RuleInForce<R>>();

  /** @param make throws for invalid numbers */
  constructor(
    name: string,
    numbers: RuleNumbers,
    make: (numbers: RuleNumbers) => R,
    planOf: ((key: string) => Partial<RuleNumbers> | undefined) | undefined,
    client: DirectClient,
  ) {
    this.name = name;
    this.numbers = numbers;
    this.make = make;
    this.planOf = planOf;
    this.client = client;
    this.declared = this.withPolicy(make(numbers));
  }

  /** For keys that have neither a plan nor an override. */
  get now(): RuleInForce<R> {
    return this.withLimits(this.client.control?.settingsOf(this.name)?.limits);
  }

  /** As in guards, an override of the key comes first, then its plan, then the live numbers of all keys. */
  ruleFor(key: string): RuleInForce<R> {
    const { control } = this.client;
    const plan = this.planOf?.(key);
    if (!control && !plan) return this.declared;
    const forAll = control?.settingsOf(this.name)?.limits;
    const own = control?.limitsOf?.(this.name, key);
    if (!plan) return this.withLimits(own ?? forAll);
    const appliesToPlans = forAll?.factor !== undefined || forAll?.allPlans;
    return this.withPlan(plan, own ?? (appliesToPlans ? forAll : undefined));
  }

  /** How much longer an operator blocks the key, in milliseconds; 0 if it is not blocked. */
  blockedMs(key: string): number {
    const override: KeyOverride | undefined = this.client.control?.overrideOf(this.name, key);
    return override?.verdict === 'block' ? override.endsInMs : 0;
  }

  private withLimits(limits: LiveLimits | undefined): RuleInForce<R> {
    if (limits === undefined) return this.declared;
    let found = this.live.get(limits);
    if (!found) {
      found = this.tryMake(this.numbers, limits);
      this.live.set(limits, found);
    }
    return found;
  }

  private withPlan(plan: Partial<RuleNumbers>, limits: LiveLimits | undefined): RuleInForce<R> {
    const { limit, window, burst } = this.numbers;
    const numbers = {
      limit: plan.limit ?? limit,
      window: plan.window ?? window,
      burst: plan.burst ?? burst,
    };
    if (limits) return this.tryMake(numbers, limits);
    const id = `${numbers.limit} ${numbers.window} ${numbers.burst}`;
    let found = this.planned.get(id);
    if (!found) {
      found = this.tryMake(numbers, undefined);
      if (this.planned.size >= MAX_PLANS) this.planned.clear();
      this.planned.set(id, found);
    }
    return found;
  }

  /** Invalid numbers are reported as a fault; then the declared ones apply. */
  private tryMake(numbers: RuleNumbers, limits: LiveLimits | undefined): RuleInForce<R> {
    try {
      return this.withPolicy(this.make(limits ? this.changed(numbers, limits) : numbers));
    } catch (error) {
      this.reportFault(limits ? 'control' : 'plan', error);
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
