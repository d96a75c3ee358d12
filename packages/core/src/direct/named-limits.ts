import { MAX_STEPS, tooLarge } from '../algorithms/group.js';
import { checkCost, isPlainObject } from '../base/checks.js';
import { mustBe, SpillwayError, type SpillwayErrorCode, show } from '../base/errors.js';
import type { BillingPeriod } from '../contract/calendar.js';
import type { LimiterSettings } from '../contract/control.js';
import type { Plan } from '../contract/request.js';
import type { Items } from '../contract/rule.js';
import type { Op } from '../contract/store.js';
import { costIn, type KeyedPart, type Limit } from './direct-client.js';
import type { LimitCosts } from './limiters-options.js';

type CostOf = (name: string) => number | undefined;
type Settings = ReadonlyMap<string, LimiterSettings | undefined>;

interface Asked {
  readonly costOf: CostOf;
  readonly plans: ReadonlyMap<string, Plan | null | undefined>;
  readonly periods: ReadonlyMap<string, BillingPeriod | undefined>;
  readonly items: ReadonlyMap<string, Items>;
  readonly settings: Settings;
}

export class NamedLimits {
  private readonly limits: ReadonlyMap<string, Limit>;

  constructor(limits: readonly Limit[]) {
    this.limits = new Map(limits.map((limit) => [limit.name, limit]));
  }

  parts(op: Op, keys: unknown, options: LimitCosts<string> | undefined): readonly KeyedPart[] {
    return this.partsWith(op, keys, this.asked(options, this.namesIn(keys)));
  }

  alternatives(
    given: unknown,
    options: LimitCosts<string> | undefined,
  ): readonly (readonly KeyedPart[])[] {
    if (!Array.isArray(given) || given.length === 0) {
      throw mustBe('alternatives', 'a list of at least one', given, 'SPW_ALTERNATIVES_INVALID');
    }
    if (given.length > MAX_STEPS) throw tooLarge();
    const names = this.namesIn(given[0]);
    const asked = this.asked(options, names);
    // Not `given.map`, which skips the holes of a sparse array.
    return Array.from(given, (keys: unknown, at) => {
      const own = this.namesIn(keys);
      if (own.length === names.length && own.every((name) => names.includes(name))) {
        return this.partsWith('take', keys, asked);
      }
      throw new SpillwayError(
        'SPW_ALTERNATIVES_INVALID',
        `all alternatives must name the same limits: the first names ${names.join(', ')}, number ${at + 1} ${own.join(', ')}`,
      );
    });
  }

  namesIn(keys: unknown): readonly string[] {
    const names = isPlainObject(keys) ? Object.keys(keys) : [];
    if (names.length === 0) {
      const what = 'an object with a key for each limit to check';
      throw mustBe('keys', what, keys, 'SPW_KEY_INVALID');
    }
    for (const name of names) if (!this.limits.has(name)) throw this.unknown(name);
    return names;
  }

  costs(options: LimitCosts<string> | undefined, names: readonly string[]): CostOf {
    const cost = costIn(options);
    if (!isPlainObject(cost)) {
      if (cost !== undefined) checkCost(cost);
      return () => cost;
    }
    const own = named<number | undefined>('cost', cost, names, 'SPW_COST_INVALID');
    for (const units of own.values()) if (units !== undefined) checkCost(units);
    return (name) => own.get(name);
  }

  get(name: string): Limit | undefined {
    return this.limits.get(name);
  }

  private partsWith(
    op: Op,
    keys: unknown,
    { costOf, plans, periods, items, settings }: Asked,
  ): KeyedPart[] {
    return Object.entries(keys as Readonly<Record<string, string>>).map(([name, key]) => {
      const limit = this.limits.get(name) as Limit;
      return limit.part(op, key, costOf(name), settings.get(name), {
        cost: costOf(name),
        plan: plans.get(name),
        period: periods.get(name),
        // Left out if not given: `distinct()` treats a missing item differently from undefined.
        ...(items.has(name) && { item: items.get(name) }),
      });
    });
  }

  private asked(options: LimitCosts<string> | undefined, names: readonly string[]): Asked {
    return {
      costOf: this.costs(options, names),
      plans: named('plan', options?.plan ?? {}, names, 'SPW_OPTION_INVALID'),
      periods: named('period', options?.period ?? {}, names, 'SPW_OPTION_INVALID'),
      items: named('item', options?.item ?? {}, names, 'SPW_OPTION_INVALID'),
      settings: new Map(names.map((name) => [name, this.limits.get(name)?.settings()])),
    };
  }

  private unknown(name: string): SpillwayError {
    const known = [...this.limits.keys()].join(', ');
    return new SpillwayError(
      'SPW_KEY_INVALID',
      `keys must name limits that exist (${known}), got ${show(name)}`,
    );
  }
}

function named<Value>(
  option: string,
  given: Readonly<Record<string, Value>>,
  names: readonly string[],
  code: SpillwayErrorCode,
): ReadonlyMap<string, Value> {
  if (!isPlainObject(given)) throw mustBe(option, 'an object by the names of limits', given, code);
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue;
    throw mustBe(option, `for limits in this call (${names.join(', ')})`, name, code);
  }
  return new Map(Object.entries(given));
}
