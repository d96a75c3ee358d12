import {
  type Calendar,
  chargeDebt,
  machineNamed,
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

export function ruleOf(numbers: RuleNumbers): Rule {
  const { machine, debt } = numbers;
  const logic = machineNamed(machine);
  if (!logic) throw unknownCall('one of the algorithms');
  const sent = numbers['calendar'] as SentCalendar | undefined;
  const calendar = sent && { calendar: calendarOf(sent) };
  const own = machine === 'bucket' && debt !== undefined ? { ...logic, chargeDebt } : logic;
  return { ...numbers, ...calendar, logic: own } as unknown as Rule;
}
