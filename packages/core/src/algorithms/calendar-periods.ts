import { mustBe } from '../base/errors.js';
import type { Calendar, Period, Periods } from '../contract/calendar.js';

const DAY_S = 86_400;
const SECOND_US = 1_000_000;

/** Days are numbered from 1970-01-01. The first Monday was 1970-01-05. */
const MONDAY = 4;

const NAME = /^(day|week|month)(?:-(\d+))?@(.+)$/;

const MOST = { day: 1, week: 7, month: 31 } as const;

export type Unit = keyof typeof MOST;

export const BILLING = 'billing';

/**
 * The calendar with this name: see {@link Calendar.name}.
 *
 * @throws SpillwayError `SPW_WINDOW_INVALID`
 * @example
 * ```ts run
 * import { calendarNamed } from '@spillway/core/store';
 *
 * calendarNamed('day@UTC').around(1_767_225_600_000_000).previous.label; // '2025-12-31@UTC'
 * ```
 */
export function calendarNamed(name: string): Calendar {
  if (name === BILLING) return { name, around: unknownPeriods };
  const [, unit = '', on = '1', timeZone = ''] = NAME.exec(name) ?? [];
  return zoneCalendar(unit as Unit, timeZone, Number(on));
}

export function zoneCalendar(unit: Unit, timeZone: string, on: number): Calendar {
  const most = Object.hasOwn(MOST, unit) ? MOST[unit] : undefined;
  if (most === undefined) throw invalid('window', "'day', 'week', 'month' or a function", unit);
  if (!Number.isInteger(on) || on < 1 || on > most) {
    throw invalid('on', unit === 'day' ? 'left out for a day' : `an integer from 1 to ${most}`, on);
  }
  const dates = datesIn(timeZone);
  const isMonth = unit === 'month' && on === 1;
  const period = (first: number, next: number): Period => ({
    label: `${dateOf(first)
      .toISOString()
      .slice(0, isMonth ? 7 : 10)}@${timeZone}`,
    startUs: beginOf(first, dates) * SECOND_US,
    endUs: beginOf(next, dates) * SECOND_US,
  });
  /** Caches the last result, because a calculation takes as long as a hundred decisions. */
  let known: Periods | undefined;
  return {
    name: `${unit}${on === 1 ? '' : `-${on}`}@${timeZone}`,
    around(us) {
      if (known && us >= known.current.startUs && us < known.current.endUs) return known;
      const first = firstDayOf(dayOf(us / SECOND_US, dates), unit, on);
      const next = nextAfter(first, unit, on);
      const current = period(first, next);
      const previous = period(firstDayOf(first - 1, unit, on), first);
      known = { previous, current, next: period(next, nextAfter(next, unit, on)) };
      return known;
    },
  };
}

function invalid(option: string, what: string, got: unknown): Error {
  return mustBe(option, what, got, 'SPW_WINDOW_INVALID');
}

function firstDayOf(day: number, unit: Unit, on: number): number {
  if (unit === 'day') return day;
  if (unit === 'week') return day - ((((day - MONDAY - on + 1) % 7) + 7) % 7);
  const [year, month] = monthOf(day);
  const first = dayIn(year, month, on);
  return day < first ? dayIn(year, month - 1, on) : first;
}

function nextAfter(first: number, unit: Unit, on: number): number {
  if (unit === 'day') return first + 1;
  if (unit === 'week') return first + 7;
  const [year, month] = monthOf(first);
  return dayIn(year, month + 1, on);
}

function dayOf(seconds: number, dates: Intl.DateTimeFormat): number {
  const [month = 1, day = 1, year = 1970] = dates
    .format(seconds * 1000)
    .split('/')
    .map(Number);
  return Date.UTC(year, month - 1, day) / (DAY_S * 1000);
}

/** The first second whose local date is `day` or later. A day may have no midnight if the clocks go forward. */
function beginOf(day: number, dates: Intl.DateTimeFormat): number {
  // Local time is at most 14 hours ahead of UTC, and at most 12 behind it.
  let before = day * DAY_S - 15 * 3600;
  let after = day * DAY_S + 15 * 3600;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (dayOf(middle, dates) < day) before = middle;
    else after = middle;
  }
  return after;
}

function datesIn(timeZone: string): Intl.DateTimeFormat {
  try {
    // With this locale and these options, a date is always written like 12/31/2026.
    const numbers = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
    return new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', { timeZone, ...numbers });
  } catch {
    throw invalid(
      'timeZone',
      "a name of the IANA time zone database such as 'Europe/Berlin'",
      timeZone,
    );
  }
}

function dateOf(day: number): Date {
  return new Date(day * DAY_S * 1000);
}

function monthOf(day: number): readonly [year: number, month: number] {
  const date = dateOf(day);
  return [date.getUTCFullYear(), date.getUTCMonth()];
}

/** The day of a month, or its last day if the month is shorter. `month` may be -1 or 12. */
function dayIn(year: number, month: number, day: number): number {
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(day, last)) / (DAY_S * 1000);
}

/**
 * The periods around `us` if all periods were as long as `own`. Periods before `own` start at 0, because their real
 * start is unknown. So they never replace a stored period before its end.
 */
export function periodsLike(own: Period, us: number): Periods {
  const { startUs, endUs } = own;
  const at = Math.floor((us - startUs) / (endUs - startUs));
  return { previous: nth(own, at - 1), current: nth(own, at), next: nth(own, at + 1) };
}

function nth(own: Period, at: number): Period {
  if (at === 0) return own;
  const { label, startUs, endUs } = own;
  const byUs = at * (endUs - startUs);
  const sign = at > 0 ? '+' : '';
  return {
    label: `${label}${sign}${at}`,
    startUs: at > 0 ? startUs + byUs : 0,
    endUs: endUs + byUs,
  };
}

const UNKNOWN_US = 31 * DAY_S * SECOND_US;

/** The periods start at 0, so they never replace a stored period before its end. */
function unknownPeriods(us: number): Periods {
  const endUs = us - (us % UNKNOWN_US) + UNKNOWN_US;
  const current = { label: 'unknown', startUs: 0, endUs };
  return { previous: current, current, next: { ...current, endUs: endUs + UNKNOWN_US } };
}
