/**
 * The steps of counts by calendar. If you change them, also change the same code in Lua:
 * packages/redis/src/algorithms/calendar/calendar.lua.
 */

import type { Ask } from '../../contract/ask.js';
import type { Period, Periods } from '../../contract/calendar.js';
import type { CalendarRule } from '../../contract/rule.js';
import { givenBack, unitsOf } from '../receipt.js';
import { periodsLike } from './periods.js';

export interface CalendarState {
  dirty: boolean;
  label: string;
  startUs: number;
  endUs: number;
  current: number;
  forgiven: number | undefined;
}

/**
 * If two periods begin at most this far apart, they count as one, because an app's clock may be off, or the app may
 * learn of a renewal late.
 */
const SAME_US = 3_600_000_000;

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

export function unusedCalendar(): CalendarState {
  return { dirty: false, label: '', startUs: 0, endUs: 0, current: 0, forgiven: undefined };
}

/** Applies a step to `state`, in place. See {@link stepBucket} for `charge` and the return value. */
export function stepCalendar(
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
    if (!isOwn || state.current === 0) return false;
    const units = givenBack(cost, receipt);
    if (units === 0) return false;
    state.current = Math.max(0, state.current - units);
    state.dirty = true;
    return true;
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
 * Moves the state to `period` if that begins later than the stored period, or if the stored period has ended. Returns
 * whether the clock went back by more than a period since the state was stored.
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
