import { checkOptions } from '../../base/check-shapes.js';
import { encodeText } from '../../base/encode-name.js';
import { mustBe } from '../../base/errors.js';
import { environment, isThenable } from '../../base/host.js';
import { Junk } from '../../base/junk.js';
import type { NamesOf } from '../../base/option-names.js';
import type { BillingPeriod, Period } from '../../contract/calendar.js';
import type { CalendarRule, CalendarWindow, FaultSink, Machine } from '../../contract/rule.js';
import { calendarMachine, MAX_BILLING_PERIOD_MS, makeCalendarRule } from './calendar-rule.js';
import { BILLING, calendarNamed, type Unit, zoneCalendar } from './periods.js';

const machine: Machine = /* @__PURE__ */ Object.assign({}, calendarMachine, {
  givenBy: ({ window }) => ['period', (window as CalendarWindow).periodOf],
  complete(step, given, limiter, sink) {
    warnOfMemory(limiter, sink);
    if (!given || (step.rule as CalendarRule).calendar.name !== BILLING) return step;
    try {
      const period = periodFrom(given.period);
      if (period) return { ...step, period };
      throw new Junk(`period of limiter "${limiter}"`, given.period ?? undefined);
    } catch (error) {
      sink.fault({ limiter, source: 'period', error });
      return step;
    }
  },
} satisfies Pick<Machine, 'complete' | 'givenBy'>);

/** Options of {@link calendar}. */
export interface CalendarOptions {
  /** The time zone in which a period begins at midnight, such as `'Europe/Berlin'`. Default `'UTC'`. */
  readonly timeZone?: string | undefined;
  /**
   * The day on which a period begins. For a week, 1 (Monday, default) to 7; for a month, 1 (default) to 31, or the last
   * day if the month is shorter.
   */
  readonly on?: number | undefined;
}

const NAMES: NamesOf<CalendarOptions> = { timeZone: 1, on: 1 };

/**
 * A window that begins with a day, week or month of a time zone, or with the caller's billing period. Use it as the
 * option `window`, without `algorithm`, `burst` and `anchor`. The store's clock decides which period is current.
 *
 * - Days of 23 and 25 hours count as one day. A day whose midnight does not exist begins when the clocks go forward.
 * - The function that returns the billing period of a request may be async. If it fails, the key's stored period
 *   continues.
 * - After the end of a billing period, the limit continues with periods of equal length and reports faults, until the
 *   function returns a later period. If that begins where the earlier one ended, units used in between count in it.
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

/** Replaces a missing period by null, because undefined would mean that the app's function failed. */
function settled<Own>(own: Own | PromiseLike<Own>): Own | PromiseLike<Own> {
  return isThenable(own) ? (own as PromiseLike<Own>).then(settledNow) : settledNow(own as Own);
}

function settledNow<Own>(own: Own): Own {
  return own ?? (null as Own);
}

type NumbersOfRule = Parameters<CalendarWindow['makeRule']>[0];

class Window<Raw> implements CalendarWindow<Raw> {
  readonly calendar: CalendarWindow['calendar'];
  readonly periodOf: CalendarWindow<Raw>['periodOf'];

  constructor(own: CalendarWindow['calendar'], periodOf: CalendarWindow<Raw>['periodOf']) {
    this.calendar = own;
    this.periodOf = periodOf && ((request) => settled(periodOf(request)));
  }

  makeRule({ limit, algorithm, burst, anchor }: NumbersOfRule): CalendarRule {
    const beside = algorithm ?? burst ?? anchor;
    if (beside === undefined) return { ...makeCalendarRule(limit, this.calendar), logic: machine };
    throw mustBe('algorithm, burst and anchor', 'left out beside calendar()', beside);
  }

  toString(): string {
    return this.calendar.name;
  }
}

/**
 * The `notices` objects for which NODE_ENV was already read. Reading it for each step would take longer than the step.
 */
const checked = new WeakSet<object>();

function warnOfMemory(limiter: string, { notices, store }: FaultSink): void {
  if (!notices || !store?.hasOurTime || checked.has(notices)) return;
  checked.add(notices);
  if (environment('NODE_ENV') !== 'production') return;
  const message = `limit "${limiter}" by calendar is counted in memory, though NODE_ENV is production: each restart of the process resets it`;
  notices.tell('SPW_STORE_MISSING', message, 'calendar()');
}

const MIN_BILLING_PERIOD_MS = 43_200_000;
const LONGEST_ID = 256;

const SECOND_US = 1_000_000;

/**
 * The billing period that the app supplied; undefined if it is invalid.
 *
 * @throws any error of reading `given`: for example, a `Temporal.Instant` can't be converted to a number
 */
function periodFrom(given: unknown): Period | undefined {
  const { id, start, end } = (given ?? {}) as Partial<BillingPeriod>;
  const [startS = 0, endS = 0] = [start, end].map((time) => Math.floor(Number(time) / 1000));
  const lengthMs = (endS - startS) * 1000;
  if (typeof id !== 'string' || id === '' || id.length > LONGEST_ID) return undefined;
  if (!(startS >= 0 && lengthMs >= MIN_BILLING_PERIOD_MS && lengthMs <= MAX_BILLING_PERIOD_MS))
    return undefined;
  return { label: encodeText(id), startUs: startS * SECOND_US, endUs: endS * SECOND_US };
}
