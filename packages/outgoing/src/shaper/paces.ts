import type { Duration, Step } from '@spillway/core';
import { checkOptions, mustBe } from '@spillway/core/adapter';
import {
  checkBurst,
  checkLimit,
  type DirectClient,
  integerBetween,
  type Limit,
  windowToMicroseconds,
} from '@spillway/core/direct';
import {
  makeShaperRule,
  type Op,
  type QueueRule,
  type StoreErrorPolicy,
} from '@spillway/core/store';
import { LiveRule, type RuleInForce, type RuleNumbers } from './live-rule.js';
import type { DeclaredPace, ShaperConfig, ShaperPlan } from './shaper-options.js';

/** What a job costs in each pace, in the order of the paces. */
export interface Cost {
  readonly units: readonly number[];
  readonly id: string;
}

/** With `maxConcurrent`, a job that costs one unit takes its slot at most this long before its start. */
const AHEAD_US = 50_000;

const MAX_SETTLED = 1_000_000_000;

interface Pace {
  readonly label: string | undefined;
  readonly live: LiveRule<QueueRule>;
  readonly limit: Limit;
}

export class Paces {
  readonly one: Cost;
  readonly periodUs: number;
  readonly waitUs: number;
  private readonly all: readonly Pace[];
  private readonly first: Pace;
  private readonly plan: ShaperConfig['plan'];
  private readonly control: DirectClient['control'];
  /** All names under which an operator may block a key. */
  private readonly names: ReadonlySet<string>;

  constructor(config: ShaperConfig, client: DirectClient) {
    const { name, paces, maxConcurrent, waitUs, isUnlimited, plan } = config;
    this.waitUs = waitUs;
    this.plan = isUnlimited ? undefined : plan;
    this.control = client.control;
    const permits = maxConcurrent === undefined ? [] : [`${name}/permits`];
    this.names = new Set([name, ...paces.map((pace) => pace.name), ...permits]);
    this.all = paces.map((pace) => this.paceOf(pace, client));
    this.first = this.all[0] as Pace;
    this.one = costOf(paces.map(() => 1));
    this.periodUs = Math.max(...this.all.map(({ live }) => periodOf(live.declared.rule)));
  }

  /** The pace with the longest time per unit, for keys that have neither a plan nor an override. */
  get slowest(): QueueRule {
    const rules = this.all.map(({ live }) => live.now.rule);
    return rules.reduce((one, other) => (periodOf(other) > periodOf(one) ? other : one));
  }

  blockedMs(key: string): number {
    let ms = 0;
    if (!this.control) return ms;
    for (const name of this.names) {
      const override = this.control.overrideOf(name, key);
      if (override?.verdict === 'block') ms = Math.max(ms, override.endsInMs);
    }
    return ms;
  }

  /** The longest time per unit among the paces, for this key. */
  periodUsOf(key: string): number {
    return Math.max(...this.all.map(({ live }) => periodOf(live.ruleFor(key).rule)));
  }

  /** The rule of the first pace, for this key. */
  inForce(key: string): RuleInForce<QueueRule> {
    return this.first.live.ruleFor(key);
  }

  stepsOf(op: Op, key: string, { units }: Cost): readonly Step[] {
    const { all } = this;
    if (all.length === 1) return [stepOf(this.first, op, key, units[0] as number)];
    const together = op === 'take';
    return all.map((pace, at) => ({ ...stepOf(pace, op, key, units[at] as number), together }));
  }

  /**
   * The step that takes a slot, if there is only one pace. With {@link stepsOf}, which makes a list, a reservation
   * would take 4 % more time.
   */
  onlyTake(key: string, { units }: Cost): Step | undefined {
    return this.all.length === 1 ? stepOf(this.first, 'take', key, units[0] as number) : undefined;
  }

  /**
   * Steps that take a slot only if it is due soon. Otherwise the permit that is taken with the slot would be unused for
   * long.
   */
  dueStepsOf(key: string, cost: Cost): readonly Step[] {
    return this.stepsOf('take', key, cost).map(dueSoon);
  }

  recordStep(key: string, at: number, units: number): Step {
    return stepOf(this.all[at] as Pace, 'record', key, units);
  }

  cost(cost: unknown, key: string): Cost {
    if (cost === undefined) return this.one;
    const units = this.all.map(() => 1);
    for (const [at, name, own] of this.unitsIn('cost', cost)) {
      units[at] = this.checkUnits(this.all[at] as Pace, name, own, key);
    }
    return costOf(units);
  }

  /** Returns the index and the units of each pace that `units` names. */
  settledUnits(units: unknown): readonly (readonly [number, number])[] {
    const given = this.unitsIn('units', units);
    return given.map(([at, name, own]) => [
      at,
      integerBetween(name, own, 0, MAX_SETTLED, 'SPW_COST_INVALID'),
    ]);
  }

  private unitsIn(option: string, given: unknown): readonly (readonly [number, string, unknown])[] {
    const { label } = this.first;
    if (label === undefined) return [[0, option, given]];
    if (typeof given !== 'object' || given === null) {
      const what = `the units of each pace, as in { ${label}: 2 }`;
      throw mustBe(option, what, given, 'SPW_COST_INVALID');
    }
    const labels = this.all.map((pace) => pace.label as string);
    checkOptions(given, option, Object.fromEntries(labels.map((own) => [own, 1])));
    const units = new Map(Object.entries(given));
    return labels.flatMap((own, at) => {
      const value: unknown = units.get(own);
      return value === undefined ? [] : [[at, `${option}.${own}`, value] as const];
    });
  }

  private checkUnits({ live }: Pace, option: string, units: unknown, key: string): number {
    const { burst } = this.plan ? live.ruleFor(key).rule : live.declared.rule;
    if (Number.isSafeInteger(units) && (units as number) > burst) {
      const what = `at most the burst, which is ${burst}: set burst to the largest cost`;
      throw mustBe(option, what, units, 'SPW_COST_INVALID');
    }
    return integerBetween(option, units, 1, burst, 'SPW_COST_INVALID');
  }

  private paceOf(pace: DeclaredPace, client: DirectClient): Pace {
    const { label, name, burst = 1 } = pace;
    const make = ({ limit, window, burst: own = burst }: RuleNumbers): QueueRule => {
      checkLimit('limit', limit);
      checkBurst(own);
      return makeShaperRule(limit, windowToMicroseconds(window as Duration), own, this.waitUs);
    };
    const pick = (plan: ShaperPlan): Partial<RuleNumbers> | undefined =>
      label === undefined ? plan : plan.paces?.[label];
    const live = new LiveRule(name, pace, make, this.plan && { of: this.plan, pick }, client);
    return { label, live, limit: client.limit(name, live.declared.rule) };
  }
}

function costOf(units: readonly number[]): Cost {
  return { units, id: units.join() };
}

export function periodOf({ windowUs, limit }: QueueRule): number {
  return windowUs / limit;
}

function stepOf({ limit, live }: Pace, op: Op, key: string, units: number): Step {
  const step = limit.step(op, key, units);
  const { rule, onStoreError } = live.ruleFor(key);
  return rule === step.rule ? step : { ...step, rule, onStoreError };
}

function dueSoon(step: Step): Step {
  const { rule, cost, onStoreError } = step;
  const policy =
    typeof onStoreError === 'object' ? dueRule(onStoreError as QueueRule, cost) : onStoreError;
  return {
    ...step,
    rule: dueRule(rule as QueueRule, cost),
    onStoreError: policy as StoreErrorPolicy,
  };
}

/**
 * The same pace, with a `maxWait` just long enough for a slot that is due soon. If the job costs more than one unit,
 * `maxWait` also covers the time in which these units refill. Otherwise smaller jobs of other processes could take
 * every unit first.
 */
function dueRule(rule: QueueRule, cost: number): QueueRule {
  const aheadUs = AHEAD_US + Math.ceil((cost - 1) * periodOf(rule));
  return makeShaperRule(rule.limit, rule.windowUs, rule.burst, Math.min(aheadUs, rule.waitUs));
}
