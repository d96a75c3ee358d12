/** The oracle's counts by calendar. Unlike core, it computes the beginning of a day from the offsets of its zone. */

import type { CalendarRule, Period } from '@spillway/core/store';
import { larger, type Machine, smaller } from './machine.js';

type Ruled = CalendarRule & { readonly period?: Period | undefined };

interface CalendarState {
  readonly start: bigint;
  readonly end: bigint;
  readonly current: bigint;
}

type Span = Omit<CalendarState, 'current'>;

const DAY_MS = 86_400_000;
const HOUR_US = 3_600_000_000n;
const DAYS_31_US = 31n * 86_400_000_000n;

const formats = new Map<string, Intl.DateTimeFormat>();
const lastSpans = new Map<string, Span>();

/** The local time in the zone, in milliseconds, as if it were UTC. */
function localOf(timeZone: string, ms: number): number {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('sv-SE', {
      timeZone,
      dateStyle: 'short',
      timeStyle: 'medium',
    });
    formats.set(timeZone, format);
  }
  return Date.parse(`${format.format(ms).replace(' ', 'T')}Z`);
}

/**
 * The instant of midnight, the first if there are two. If the clocks are set forward over midnight, it is the instant
 * at which that happens.
 */
function midnight(timeZone: string, day: number): number {
  const offsets = [-1, 1].map((side) => {
    const near = day + side * DAY_MS;
    return localOf(timeZone, near) - near;
  });
  const instants = offsets.map((offset) => day - offset).sort((a, b) => a - b);
  return instants.find((ms) => localOf(timeZone, ms) === day) ?? (instants.at(-1) as number);
}

/** The day on which the period that contains `local` begins, as midnight in UTC. */
function firstDay(unit: string, on: number, local: number): number {
  let day = local - (((local % DAY_MS) + DAY_MS) % DAY_MS);
  while (!begins(unit, on, new Date(day))) day -= DAY_MS;
  return day;
}

function begins(unit: string, on: number, date: Date): boolean {
  if (unit === 'day') return true;
  if (unit === 'week') return (date.getUTCDay() || 7) === on;
  const tomorrow = new Date(date.getTime() + DAY_MS).getUTCDate();
  return date.getUTCDate() === on || (tomorrow === 1 && date.getUTCDate() < on);
}

function spanAt({ calendar, period }: Ruled, now: bigint): Span {
  if (period) {
    const start = BigInt(period.startUs);
    const length = BigInt(period.endUs) - start;
    let at = (now - start) / length;
    if (at * length > now - start) at -= 1n;
    return { start: at < 0n ? 0n : start + at * length, end: start + (at + 1n) * length };
  }
  if (calendar.name === 'billing') return { start: 0n, end: now - (now % DAYS_31_US) + DAYS_31_US };
  const last = lastSpans.get(calendar.name);
  if (last && now >= last.start && now < last.end) return last;
  const span = zoneSpan(calendar.name, Number(now / 1000n));
  lastSpans.set(calendar.name, span);
  return span;
}

function zoneSpan(name: string, ms: number): Span {
  const [periods = '', timeZone = ''] = name.split('@');
  const [unit = '', on = '1'] = periods.split('-');
  const first = firstDay(unit, Number(on), localOf(timeZone, ms));
  let next = first + DAY_MS;
  while (!begins(unit, Number(on), new Date(next))) next += DAY_MS;
  const us = (day: number) => BigInt(midnight(timeZone, day)) * 1000n;
  return { start: us(first), end: us(next) };
}

function apart(a: bigint, b: bigint): bigint {
  return a > b ? a - b : b - a;
}

export const calendarMachine: Machine<Ruled, CalendarState> = {
  shareCount: () => true,

  view(rule, state, now) {
    const { start, end } = spanAt(rule, now);
    if (!state || now >= state.end) return { start, end, current: 0n };
    const isKnown = start > 0n;
    if (state.start === 0n) return isKnown ? { ...state, start, end } : state;
    if (isKnown && apart(start, state.start) <= HOUR_US) return { ...state, end };
    if (start > state.start) return { start, end, current: 0n };
    return calendarMachine.impossible(rule, state, now) ? { ...state, start, end } : state;
  },

  impossible(rule, state, now) {
    const span = spanAt(rule, now);
    return state.start > span.end && apart(span.start, state.start) > HOUR_US;
  },

  passes: ({ limit }, view, _now, cost) => view.current + cost <= BigInt(limit),

  charge: (_rule, view, _now, cost) => ({ ...view, current: view.current + cost }),

  forgiven: (_rule, view, after, _now, units) => units - (after.current - view.current),

  record({ limit, debt = 0 }, view, _now, cost) {
    const most = larger(view.current, BigInt(limit) + BigInt(debt));
    return { ...view, current: smaller(view.current + cost, most) };
  },

  put(_rule, view, _now, cost, receipt) {
    const isOwn = receipt?.atUs === 0 || receipt?.atUs === Number(view.start);
    if (!isOwn || view.current === 0n) return undefined;
    return { ...view, current: larger(0n, view.current - cost) };
  },

  numbers({ limit }, view, now, cost) {
    const room = BigInt(limit) - view.current;
    const left = view.end - now;
    let retryUs: bigint | null = 0n;
    if (cost > BigInt(limit)) retryUs = null;
    else if (cost > 0n && cost > room) retryUs = left;
    const resetUs = view.current > 0n ? left : 0n;
    return { used: view.current, remaining: larger(0n, room), retryUs, resetUs };
  },

  answer: (_rule, { start, end, current }, nowUs) => ({
    nowUs,
    startUs: Number(start),
    endUs: Number(end),
    current: Number(current),
  }),

  forgettable: (_rule, state, now, earlier) => state.end <= now && earlier < state.end,
};
