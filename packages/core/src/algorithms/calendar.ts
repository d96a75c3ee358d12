/**
 * Limits by calendar period. As text, as in Redis: `label start end current`. If you change the steps, also change them
 * in packages/redis/src/algorithms/calendar/calendar.lua.
 */

import { checkOptions } from '../base/check-shapes.js';
import { LONGEST_US } from '../base/duration.js';
import { encodeText } from '../base/encode-name.js';
import { mustBe } from '../base/errors.js';
import { environment, orElse } from '../base/host.js';
import { Junk } from '../base/junk.js';
import type { NamesOf } from '../base/option-names.js';
import type { Ask } from '../contract/ask.js';
import type { BillingPeriod, Calendar, Period, Periods } from '../contract/calendar.js';
import type { Numbers } from '../contract/decision.js';
import type {
  CalendarAnswer,
  CalendarRule,
  CalendarWindow,
  FaultSink,
  Machine,
  ShelfStep,
} from '../contract/rule.js';
import {
  BILLING,
  calendarNamed,
  periodsLike,
  type Unit,
  zoneCalendar,
} from './calendar-periods.js';
import { measureWindowed, partOf, ratePolicy } from './decide.js';
import { refund, unitsOf } from './receipt.js';
import { type Expiring, KeyedShelf } from './shelves/keyed-shelf.js';
import { type TextForm, unknownFormat, wholeNumber } from './stored-count.js';

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
 * option `window`, without `algorithm`, `burst`, `anchor` and `penalty`. The store's clock decides which period is
 * current.
 *
 * - Days of 23 and 25 hours count as one day. A day whose midnight does not exist begins when the clocks go forward.
 * - The function that returns the billing period of a request may be async. If it fails, the key's stored period
 *   continues. A key without one counts in periods of 31 days.
 * - After the end of a billing period, the limit continues with periods of equal length and reports faults, until the
 *   function returns a later period. If the later period begins where the earlier one ended, units used in between
 *   count in the later one.
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
    return windowBy(zoneCalendar(period, timeZone ?? 'UTC', on ?? 1), undefined);
  }
  if (timeZone !== undefined || on !== undefined) {
    throw mustBe('options', 'left out beside a function', options);
  }
  return windowBy(calendarNamed(BILLING), period);
}

function windowBy<Raw>(
  own: Calendar,
  periodOf: CalendarWindow<Raw>['periodOf'],
): CalendarWindow<Raw> {
  return {
    calendar: own,
    // Null, because undefined would mean that the app's function failed.
    periodOf: periodOf && ((request) => orElse(periodOf(request), null as never)),
    makeRule({ limit, algorithm, burst, anchor }) {
      const beside = algorithm ?? burst ?? anchor;
      if (beside === undefined) return { ...makeCalendarRule(limit, own), logic: machine };
      throw mustBe('algorithm, burst and anchor', 'left out beside calendar()', beside);
    },
    toString: () => own.name,
  };
}

/** Reading NODE_ENV for each step would take longer than the step, so it is read once per `notices`. */
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
  if (!(startS >= 0 && lengthMs >= MIN_BILLING_PERIOD_MS && lengthMs <= LONGEST_US / 1000))
    return undefined;
  return { label: encodeText(id), startUs: startS * SECOND_US, endUs: endS * SECOND_US };
}

export const calendarMachine: Machine = {
  same: (rule: CalendarRule, other: CalendarRule) =>
    rule.calendar.name === other.calendar.name && rule.debt === other.debt,
  // Reduces the limit, because a period of the calendar can't be extended like other windows.
  share: (rule: CalendarRule, share) => ({ ...rule, limit: partOf(rule.limit, share) }),
  soften: (rule: CalendarRule) => ({ ...rule, limit: MOST_COUNTED }),
  policy: (name, { limit, calendar }: CalendarRule) =>
    ratePolicy(name, { limit, windowUs: lengthOf(calendar) }),
  declared: ({ limit, calendar }: CalendarRule) => ({
    algorithm: `calendar:${calendar.name}`,
    limit,
  }),
  expiresAfterUs: ({ calendar }: CalendarRule) =>
    // Clocks that are set back lengthen a period by up to two hours.
    calendar.name === BILLING ? LONGEST_US : lengthOf(calendar) + 2 * HOUR_US,
  measure: measureCalendar,
  receipt: ({ startUs }: CalendarAnswer, units) => ({ atUs: startUs, num: 0, units }),
  examine({ period }, { startUs }: CalendarAnswer, limiter, sink) {
    if (!period || !(startUs >= period.endUs)) return;
    const ended = `period "${period.label}" of limiter "${limiter}" has ended: the next goes on without a new one`;
    sink.fault({ limiter, source: 'period', error: new RangeError(ended) });
  },
  shelf: () => new CalendarShelf(),
  denials: {
    // Rejections in billing periods are not cached, because a renewal may begin another period at any moment.
    holdsMs: ({ calendar }: CalendarRule, { retryAfterMs }) =>
      calendar.name === BILLING ? 0 : retryAfterMs,
    write({ startUs, endUs, current }: CalendarAnswer, numbers, at) {
      numbers[at] = startUs;
      numbers[at + 1] = endUs;
      numbers[at + 2] = current;
    },
    read(_, numbers, at, nowUs): CalendarAnswer {
      const [startUs = 0, endUs = 0, current = 0] = numbers.subarray(at, at + 3);
      return { allowed: false, nowUs, startUs, endUs, current };
    },
  },
};

/** {@link calendarMachine} for limiters, which also call functions of the user. */
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

/**
 * The rule of a limit by calendar.
 *
 * @example
 * ```ts run
 * import { calendarNamed, makeCalendarRule } from '@spillway/core/store';
 *
 * const rule = makeCalendarRule(10_000, calendarNamed('month@Europe/Berlin'));
 * rule.calendar.around(Date.UTC(2026, 10, 30, 23) * 1000).current.label; // '2026-12@Europe/Berlin'
 * ```
 */
export function makeCalendarRule(limit: number, calendar: Calendar): CalendarRule {
  return { machine: 'calendar', logic: calendarMachine, code: 'k', limit, calendar };
}

/** The highest count. Redis replies with twice the count, and ioredis parses integers above 2^53 - 58 wrong. */
export const MOST_COUNTED: number = 2 ** 51;

const HOUR_US = 3_600_000_000;
const DAY_US = 24 * HOUR_US;

function lengthOf({ name }: Calendar): number {
  if (name === BILLING) return Infinity;
  if (name.startsWith('day')) return DAY_US;
  return (name.startsWith('week') ? 7 : 31) * DAY_US;
}

function measureCalendar({ limit }: CalendarRule, answer: CalendarAnswer, cost: number): Numbers {
  return measureWindowed(limit, answer.current, cost, (answer.endUs - answer.nowUs) / 1000);
}

interface CalendarState {
  dirty: boolean;
  label: string;
  startUs: number;
  endUs: number;
  current: number;
  forgiven: number | undefined;
}

/** Periods that begin at most this far apart count as one: clocks differ, and a renewal may become known late. */
const SAME_US = HOUR_US;

/**
 * The periods before, at and after `nowUs` of the store's clock. Usually a step counts in `current`. Exported for
 * stores that decide in another language, such as Lua.
 *
 * @example
 * ```ts run
 * import { calendarNamed, makeCalendarRule, periodsOf } from '@spillway/core/store';
 *
 * const rule = makeCalendarRule(100, calendarNamed('day@UTC'));
 * periodsOf({ rule }, 1_767_225_600_000_000).current.label; // '2026-01-01@UTC'
 * ```
 */
export function periodsOf(
  { rule, period }: Pick<Ask<CalendarRule>, 'rule' | 'period'>,
  nowUs: number,
): Periods {
  return period ? periodsLike(period, nowUs) : rule.calendar.around(nowUs);
}

function unusedCalendar(): CalendarState {
  return { dirty: false, label: '', startUs: 0, endUs: 0, current: 0, forgiven: undefined };
}

function calendarAnswer(state: CalendarState, nowUs: number, allowed: boolean): CalendarAnswer {
  const { startUs, endUs, current, forgiven } = state;
  return { allowed, nowUs, startUs, endUs, current, forgiven };
}

/** Applies a step to `state`, in place. See {@link stepBucket} for `charge` and the return value. */
function stepCalendar(
  ask: CalendarAsk,
  state: CalendarState,
  nowUs: number,
  charge: boolean,
): boolean {
  const { op, rule, cost, receipt } = ask;
  state.forgiven = undefined;
  const { current: period } = periodsOf(ask, nowUs);
  const wasAhead = enter(state, period, nowUs);
  if (op === 'reset') {
    begin(state, period);
    state.dirty = true;
    return true;
  }
  if (op === 'put') {
    // True if the grant was charged in this period, or while the period was unknown.
    const isOwn = receipt?.atUs === 0 || receipt?.atUs === state.startUs;
    return isOwn && refund(state, cost, receipt);
  }
  if (cost === 0) return true;

  const { limit, debt } = rule;
  const passes = state.current + cost <= limit;
  if (op === 'record' || (op === 'take' && passes && charge)) {
    const units = unitsOf(ask);
    const charged = Math.min(units, Math.max(0, limit + (debt ?? 0) - state.current));
    state.current += charged;
    if (charged < units && debt !== undefined) state.forgiven = units - charged;
    state.dirty = true;
  } else if (op === 'take') {
    state.dirty = wasAhead; // a repaired state is stored although nothing is charged
  }
  return passes;
}

type CalendarAsk = Omit<Ask<CalendarRule>, 'key'>;

/**
 * Moves the state to `period` if the stored period has ended, or begins more than an hour before `period`. If the two
 * begin at most an hour apart, the state gets the label and the end of `period`, unless the start of `period` is
 * unknown. If the stored period begins after the end of `period`, the clock was set back: moves the state too, but
 * keeps the count, and returns true. Otherwise returns false.
 */
function enter(state: CalendarState, period: Period, nowUs: number): boolean {
  // A count that began when its billing period was unknown continues in the first known period.
  if (state.startUs === 0) state.startUs = period.startUs;
  const laterUs = period.startUs - state.startUs;
  if (nowUs >= state.endUs || laterUs > SAME_US) {
    begin(state, period);
  } else if (-laterUs <= SAME_US && period.startUs > 0) {
    // The start does not change, because receipts contain it.
    state.label = period.label;
    state.endUs = period.endUs;
  } else if (state.startUs > period.endUs) {
    const { current } = state;
    begin(state, period);
    state.current = current;
    return true;
  }
  return false;
}

function begin(state: CalendarState, { label, startUs, endUs }: Period): void {
  state.label = label;
  state.startUs = startUs;
  state.endUs = endUs;
  state.current = 0;
}

type CalendarEntry = Omit<CalendarState, 'dirty' | 'label' | 'endUs' | 'forgiven'> & Expiring;

const UNUSED: CalendarEntry = { startUs: 0, expiresUs: 0, current: 0 };

class CalendarShelf extends KeyedShelf<CalendarRule, CalendarEntry> {
  /** A copy of the key's state, which a step changes. It is stored only if it is dirty. */
  private readonly working = unusedCalendar();

  override step(step: ShelfStep<CalendarRule, CalendarEntry>): CalendarAnswer {
    const { nowUs, charge, mayGrow, count, other } = step;
    // In a full store, keys share a count. The billing period of one key must not end the period of another.
    const ask = mayGrow ? step.ask : { ...step.ask, period: undefined };
    const { working: state } = this;
    const from = count ?? other ?? UNUSED;
    state.dirty = false;
    state.startUs = from.startUs;
    state.endUs = from.expiresUs;
    state.current = from.current;
    if (from === other && ask.period && nowUs < from.expiresUs) {
      Object.assign(state, periodsOf(ask, nowUs).current);
    }
    const allowed = stepCalendar(ask, state, nowUs, charge);
    if (state.dirty) this.keep(ask, count, state);
    return calendarAnswer(state, nowUs, allowed);
  }

  override expiresAtUs(_: CalendarRule, { endUs }: CalendarAnswer): number {
    return endUs;
  }

  private keep(
    ask: Ask<CalendarRule>,
    stored: CalendarEntry | undefined,
    { startUs, endUs, current }: CalendarState,
  ): void {
    if (ask.op === 'reset') this.delete(ask);
    else if (stored) {
      stored.startUs = startUs;
      stored.expiresUs = endUs;
      stored.current = current;
    } else {
      this.set(ask, { startUs, expiresUs: endUs, current });
    }
  }
}

/** The label may contain spaces and line separators. */
const FORM = /^(.+) (\d+) (\d+) (\d+)$/s;

export const calendarForm: TextForm<CalendarState> = {
  copies: true,
  unused: unusedCalendar,
  read(text) {
    const [, label, ...digits] = FORM.exec(text) ?? [];
    if (label === undefined) throw unknownFormat();
    const [startUs = 0, endUs = 0, current = 0] = digits.map((part) => wholeNumber(Number(part)));
    return { ...unusedCalendar(), label, startUs, endUs, current };
  },
  step: (ask: Ask<CalendarRule>, state, nowUs, charge) =>
    calendarAnswer(state, nowUs, stepCalendar(ask, state, nowUs, charge)),
  expiresUs: ({ endUs }) => endUs,
  text: ({ label, startUs, endUs, current }) => `${label} ${startUs} ${endUs} ${current}`,
};
