import type { CalendarAnswer } from '../../contract/ask.js';
import type { Calendar } from '../../contract/calendar.js';
import type { Numbers } from '../../contract/decision.js';
import type { CalendarRule, Machine } from '../../contract/rule.js';
import { ratePolicy } from '../decide.js';
import { CalendarShelf } from './calendar-shelf.js';
import { BILLING } from './periods.js';

export const MAX_BILLING_PERIOD_MS = 34_560_000_000;

export const calendarMachine: Machine = {
  same: (rule: CalendarRule, other: CalendarRule) =>
    rule.calendar.name === other.calendar.name && rule.debt === other.debt,
  capacity: ({ limit }: CalendarRule) => limit,
  // Reduces the limit, because a period of the calendar can't be extended like other windows.
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
    calendar.name === BILLING ? MAX_BILLING_PERIOD_MS * 1000 : lengthOf(calendar),
  measure: measureCalendar,
  receipt: ({ startUs }: CalendarAnswer, units) => ({ atUs: startUs, num: 0, units }),
  examine({ period }, { startUs }: CalendarAnswer, limiter, sink) {
    if (!period || !(startUs >= period.endUs)) return;
    const ended = `period "${period.label}" of limiter "${limiter}" has ended: the next goes on without a new one`;
    sink.fault({ limiter, source: 'period', error: new RangeError(ended) });
  },
  merges: true,
  shelf: () => new CalendarShelf(),
  denials: {
    // Rejections in billing periods are not cached, because a renewal may begin another period at any moment.
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
 * The highest count. The Redis script replies with twice the count, plus 0 or 1, and ioredis parses integers above
 * 2^53 - 58 wrong.
 */
export const MOST_COUNTED: number = 2 ** 51;

const DAY_US = 86_400_000_000;

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
