/** The rule of a limit by calendar, and its machine. */

import { encodeText } from '../../base/encode-name.js';
import { Junk } from '../../base/junk.js';
import type { CalendarAnswer } from '../../contract/ask.js';
import type { BillingPeriod, Calendar, Period } from '../../contract/calendar.js';
import type { Numbers } from '../../contract/decision.js';
import type { CalendarRule, CalendarWindow, Machine } from '../../contract/rule.js';
import { ratePolicy } from '../decide.js';
import { CalendarShelf } from './calendar-shelf.js';
import { BILLING } from './periods.js';

const calendarMachine: Machine = {
  same: (rule: CalendarRule, other: CalendarRule) =>
    rule.calendar.name === other.calendar.name && rule.debt === other.debt,
  capacity: ({ limit }: CalendarRule) => limit,
  // Reduces the limit, because a longer window would not be a period of the calendar.
  share: (rule: CalendarRule, share) => ({
    ...rule,
    limit: Math.max(1, Math.floor(rule.limit * share)),
  }),
  soften: (rule: CalendarRule) => ({ ...rule, limit: MOST_COUNTED }),
  policy: (name, { limit, calendar }: CalendarRule) =>
    ratePolicy(name, { limit, windowUs: lengthOf(calendar) }),
  declared: ({ limit, calendar }: CalendarRule) => ({
    algorithm: `calendar:${calendar.name}`,
    limit,
  }),
  described: ({ limit, calendar }: CalendarRule) => `${limit} per ${calendar.name}`,
  expiresAfterUs: ({ calendar }: CalendarRule) =>
    calendar.name === BILLING ? LONGEST_MS * 1000 : lengthOf(calendar),
  measure: measureCalendar,
  receipt: ({ startUs }: CalendarAnswer, units) => ({ atUs: startUs, num: 0, units }),
  givenBy: ({ window }) => ['period', (window as CalendarWindow).periodOf],
  complete(step, { period: given }, limiter, sink) {
    if ((step.rule as CalendarRule).calendar.name !== BILLING) return step;
    try {
      const period = periodFrom(given);
      if (period) return { ...step, period };
      throw new Junk(`period of limiter "${limiter}"`, given);
    } catch (error) {
      sink.fault({ limiter, source: 'period', error });
      return step;
    }
  },
  examine({ period }, { startUs }: CalendarAnswer, limiter, sink) {
    if (!period || !(startUs >= period.endUs)) return;
    const ended = `period "${period.label}" of limiter "${limiter}" has ended: the next goes on without a new one`;
    sink.fault({ limiter, source: 'period', error: new RangeError(ended) });
  },
  merges: true,
  shelf: () => new CalendarShelf(),
  denials: {
    // Not cached for billing periods, because a renewed subscription may begin another period at any moment.
    holdsMs: ({ calendar }: CalendarRule, { retryAfterMs }) =>
      calendar.name === BILLING ? 0 : retryAfterMs,
    covers: (cost, kept) => cost >= kept,
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

/**
 * The script in Redis replies with one number: twice the count, plus a bit. With 2^52 that could exceed 2^53 - 58, and
 * the parser of ioredis reads larger integers wrong.
 */
export const MOST_COUNTED: number = 2 ** 51;

const DAY_US = 86_400_000_000;

/** The usual length of a day or week, or the longest of a month, in microseconds; `Infinity` for billing periods. */
function lengthOf({ name }: Calendar): number {
  if (name === BILLING) return Infinity;
  if (name.startsWith('day')) return DAY_US;
  return (name.startsWith('week') ? 7 : 31) * DAY_US;
}

function measureCalendar({ limit }: CalendarRule, answer: CalendarAnswer, cost: number): Numbers {
  const { nowUs, endUs, current } = answer;
  const remaining = Math.max(0, limit - current);
  const leftMs = (endUs - nowUs) / 1000;
  let retryAfterMs = 0;
  if (cost > limit) retryAfterMs = Infinity;
  else if (cost > 0 && cost + current > limit) retryAfterMs = leftMs;
  return { used: current, remaining, retryAfterMs, resetMs: current > 0 ? leftMs : 0 };
}

/** The least and the greatest length of a billing period. */
const SHORTEST_MS = 43_200_000;
const LONGEST_MS = 34_560_000_000;
const LONGEST_ID = 256;

const SECOND_US = 1_000_000;

/**
 * The billing period that the app supplied; undefined if it is invalid.
 *
 * @throws any error of reading `given`, such as that of a `Temporal.Instant`, which doesn't convert to a number
 */
function periodFrom(given: unknown): Period | undefined {
  const { id, start, end } = (given ?? {}) as Partial<BillingPeriod>;
  const [startS = 0, endS = 0] = [start, end].map((time) => Math.floor(Number(time) / 1000));
  const lengthMs = (endS - startS) * 1000;
  if (typeof id !== 'string' || id === '' || id.length > LONGEST_ID) return undefined;
  if (!(startS >= 0 && lengthMs >= SHORTEST_MS && lengthMs <= LONGEST_MS)) return undefined;
  return { label: encodeText(id), startUs: startS * SECOND_US, endUs: endS * SECOND_US };
}
