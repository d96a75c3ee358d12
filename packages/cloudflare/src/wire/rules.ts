import {
  type Calendar,
  chargeDebt,
  type Machine,
  makeCalendarRule,
  makeClaimsRule,
  makeDistinctRule,
  makeLeasesRule,
  makeLockRule,
  makeRule,
  makeShaperRule,
  type Period,
  type Rule,
} from '@spillway/core/store';
import { unknownCall } from '../failures.js';

export type RuleNumbers = { readonly machine: Rule['machine'] } & Readonly<Record<string, unknown>>;

/**
 * The numbers of a rule. A calendar is sent as its periods around `nowUs`, so the object need not know the calendar.
 */
export function numbersOf(rule: Rule, nowUs: number): RuleNumbers {
  const { logic: _, soft: __, ...numbers } = rule;
  if (rule.machine !== 'calendar') return numbers;
  const { name } = rule.calendar;
  const { previous, current, next } = rule.calendar.around(nowUs);
  const calendar: SentCalendar = { name, periods: [previous, current, next] };
  return { ...numbers, calendar };
}

interface SentCalendar {
  readonly name: string;
  readonly periods: readonly [previous: Period, current: Period, next: Period];
}

/**
 * Makes a calendar of three periods. These are enough, because the clocks of Workers and objects differ by less than a
 * period.
 */
function calendarOf({ name, periods }: SentCalendar): Calendar {
  const [previous, current, next] = periods;
  return {
    name,
    around(us) {
      const own = periods.find(({ startUs, endUs }) => us >= startUs && us < endUs);
      return { previous, current: own ?? current, next };
    },
  };
}

export class Rules {
  private readonly logics: Readonly<Record<Exclude<Rule['machine'], 'calendar'>, Machine>> = {
    bucket: makeRule('token-bucket', 1, 1_000).logic,
    queue: makeShaperRule(1, 1_000, 1, 0).logic,
    window: makeRule('fixed-window', 1, 1_000).logic,
    log: makeRule('sliding-window-log', 1, 1_000).logic,
    leases: makeLeasesRule(1, 1_000_000).logic,
    claims: makeClaimsRule(1_000_000, 1_000_000).logic,
    lock: makeLockRule(1, 1_000, [1_000], 1_000).logic,
    distinct: makeDistinctRule(1, 1_000).logic,
  };

  ruleOf(numbers: RuleNumbers): Rule {
    const { machine, limit, debt, calendar } = numbers;
    if (machine === 'calendar') {
      const plain = makeCalendarRule(limit as number, calendarOf(calendar as SentCalendar));
      return debt === undefined ? plain : { ...plain, debt: debt as number };
    }
    if (!Object.hasOwn(this.logics, machine)) throw unknownCall('one of the algorithms');
    const logic = this.logics[machine];
    const own = machine === 'bucket' && debt !== undefined ? { ...logic, chargeDebt } : logic;
    return { ...numbers, logic: own } as unknown as Rule;
  }
}
