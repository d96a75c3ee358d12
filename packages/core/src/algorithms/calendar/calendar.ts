/** `calendar`: windows by day, week, month or billing period. */

import { checkOptions } from '../../base/check-shapes.js';
import { mustBe } from '../../base/errors.js';
import type { NamesOf } from '../../base/option-names.js';
import type { CalendarRule, CalendarWindow } from '../../contract/rule.js';
import { makeCalendarRule } from './calendar-rule.js';
import { BILLING, calendarNamed, type Unit, zoneCalendar } from './periods.js';

/** Options of {@link calendar}. */
export interface CalendarOptions {
  /** The time zone in which a period begins at midnight, such as `'Europe/Berlin'`. Default `'UTC'`. */
  readonly timeZone?: string | undefined;
  /**
   * The day on which a period begins. For a week: 1 (Monday, default) to 7 (Sunday). For a month: 1 (default) to 31; a
   * shorter month begins on its last day, as at Stripe.
   */
  readonly on?: number | undefined;
}

const NAMES: NamesOf<CalendarOptions> = { timeZone: 1, on: 1 };

/**
 * A window that begins with a day, week or month of a time zone, or with the caller's billing period. For the option
 * `window`: a count per period, without `algorithm`, `burst` and `anchor`. The clock of the store decides which period
 * it is.
 *
 * - Days of 23 and 25 hours are one day. A day whose midnight does not exist begins when the clocks go forward.
 * - A function returns the billing period of a request, and may be async. If it fails, the key's stored period
 *   continues.
 * - After the end of a billing period, the limit continues with periods of equal length and reports faults, until the
 *   function returns a later period. Units used in between count in the later period.
 *
 * @throws SpillwayError `SPW_WINDOW_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { calendar, createGuard, rateLimit } from '@spillway/core';
 *
 * declare const subscriptionOf: (request: unknown) => { id: string; start: Date; end: Date };
 * createGuard([
 *   rateLimit({ name: 'daily', limit: 1_000, window: calendar('day', { timeZone: 'Europe/Berlin' }) }),
 *   rateLimit({ name: 'paid', limit: 50_000, window: calendar(({ raw }) => subscriptionOf(raw)) }),
 * ]);
 * ```
 */
export function calendar<Raw = unknown>(
  period: Unit | NonNullable<CalendarWindow<Raw>['periodOf']>,
  options: CalendarOptions = {},
): CalendarWindow<Raw> {
  checkOptions(options, 'calendar()', NAMES);
  const { timeZone, on } = options;
  if (typeof period !== 'function') {
    return new Window(zoneCalendar(period, timeZone ?? 'UTC', on ?? 1), undefined);
  }
  if (timeZone !== undefined || on !== undefined) {
    throw mustBe('options', 'left out beside a function', options);
  }
  return new Window(calendarNamed(BILLING), period);
}

type NumbersOfRule = Parameters<CalendarWindow['makeRule']>[0];

class Window<Raw> implements CalendarWindow<Raw> {
  readonly calendar: CalendarWindow['calendar'];
  readonly periodOf: CalendarWindow<Raw>['periodOf'];

  constructor(own: CalendarWindow['calendar'], periodOf: CalendarWindow<Raw>['periodOf']) {
    this.calendar = own;
    this.periodOf = periodOf;
  }

  makeRule({ limit, algorithm, burst, anchor }: NumbersOfRule): CalendarRule {
    const beside = algorithm ?? burst ?? anchor;
    if (beside === undefined) return makeCalendarRule(limit, this.calendar);
    throw mustBe('algorithm, burst and anchor', 'left out beside calendar()', beside);
  }

  toString(): string {
    return this.calendar.name;
  }
}
