/**
 * Compares the periods of calendars with those of `Temporal`. Both take the rules of time zones from ICU. So this tests
 * our search for midnight and our date arithmetic, but not the rules of zones. If the platform has no `Temporal`, a
 * polyfill is used, which asks `Intl`, as we do.
 */

import { calendarNamed } from '@spillway/core/store';
import { Temporal as Polyfill } from 'temporal-polyfill';

const Temporal = (globalThis as { Temporal?: typeof Polyfill }).Temporal ?? Polyfill;
type Instant = Polyfill.Instant;
type PlainDate = Polyfill.PlainDate;

const FROM = Temporal.Instant.from('2026-01-01T00:00Z');
const TO = Temporal.Instant.from('2028-01-01T00:00Z');

/** 2026 and 2027 have no leap day, so the leap days before and after them are tried too. */
const LEAP_DAYS = ['2024-02-29T12:00Z', '2028-02-29T12:00Z'].map((text) =>
  Temporal.Instant.from(text),
);

interface Zone {
  readonly timeZone: string;
  readonly changes: readonly Instant[];
}

/** Every n-th time zone, with the changes of its clocks in 2026 and 2027. */
export function everyZone(n = 1): readonly Zone[] {
  const names = Intl.supportedValuesOf('timeZone').filter((_, at) => at % n === 0);
  return names.map((timeZone) => ({ timeZone, changes: changesIn(timeZone) }));
}

function changesIn(timeZone: string): Instant[] {
  const changes: Instant[] = [];
  let at = FROM.toZonedDateTimeISO(timeZone).getTimeZoneTransition('next');
  while (at && Temporal.Instant.compare(at.toInstant(), TO) < 0) {
    changes.push(at.toInstant());
    at = at.getTimeZoneTransition('next');
  }
  return changes;
}

/** How `Temporal` finds the periods of a calendar. */
interface Reckoning {
  /** The first day of the period of a date. */
  first(date: PlainDate): PlainDate;
  /** The first day of the period that is `periods` periods after the one that begins with `first`. */
  after(first: PlainDate, periods: number): PlainDate;
}

const days: Reckoning = { first: (date) => date, after: (first, n) => first.add({ days: n }) };

const weeksOn = (on: number): Reckoning => ({
  first: (date) => date.subtract({ days: (date.dayOfWeek - on + 7) % 7 }),
  after: (first, n) => first.add({ weeks: n }),
});

/** `with` takes the last day of a month that has no day `on`. */
const monthsOn = (on: number): Reckoning => ({
  first(date) {
    const first = date.with({ day: on });
    return Temporal.PlainDate.compare(date, first) < 0 ? this.after(first, -1) : first;
  },
  after: (first, n) => first.add({ months: n }).with({ day: on }),
});

/** When dates begin in a zone, in nanoseconds. Cached, because `Temporal` takes most of the time of this test. */
function beginsIn(timeZone: string): (date: PlainDate) => bigint {
  const begins = new Map<string, bigint>();
  return (date) => {
    const text = date.toString();
    const begin = begins.get(text) ?? date.toZonedDateTime(timeZone).epochNanoseconds;
    begins.set(text, begin);
    return begin;
  };
}

/**
 * The first day of a date's period; then when the previous period, this one and the next begin, and when the next ends.
 */
function asTemporal(
  reckoning: Reckoning,
  date: PlainDate,
  begin: (date: PlainDate) => bigint,
): string {
  const first = reckoning.first(date);
  return `${first} ${[-1, 0, 1, 2].map((n) => begin(reckoning.after(first, n))).join(' ')}`;
}

function asSpillway(calendar: ReturnType<typeof calendarNamed>, us: bigint): string {
  const { previous, current, next } = calendar.around(Number(us));
  const [date = ''] = current.label.split('@');
  const first = date.length === 7 ? `${date}-01` : date;
  const bounds = [previous.startUs, current.startUs, next.startUs, next.endUs];
  const gap = previous.endUs !== current.startUs || current.endUs !== next.startUs;
  return `${first} ${bounds.map((at) => `${at}000`).join(' ')}${gap ? ' with a gap' : ''}`;
}

const CALENDARS: Readonly<Record<string, Reckoning>> = {
  day: days,
  week: weeksOn(1),
  'week-7': weeksOn(7),
  month: monthsOn(1),
  'month-29': monthsOn(29),
  'month-30': monthsOn(30),
  'month-31': monthsOn(31),
};

/** The names of the calendars that are compared, without zones. */
export const NAMES: readonly string[] = Object.keys(CALENDARS);

/** The differences around each clock change and each leap day. */
export function differencesFromTemporal(name: string, zones: readonly Zone[]): string[] {
  const reckoning = CALENDARS[name] as Reckoning;
  const differences: string[] = [];
  for (const { timeZone, changes } of zones) {
    const calendar = calendarNamed(`${name}@${timeZone}`);
    const begin = beginsIn(timeZone);
    const dateAt = (ns: bigint) =>
      Temporal.Instant.fromEpochNanoseconds(ns).toZonedDateTimeISO(timeZone).toPlainDate();
    const instants = [...changes, ...LEAP_DAYS].flatMap(({ epochNanoseconds: ns }) => {
      const first = reckoning.first(dateAt(ns));
      return [ns, begin(first), begin(reckoning.after(first, 1))];
    });
    for (const ns of new Set(instants)) {
      for (const us of [ns / 1000n - 1n, ns / 1000n]) {
        const own = asSpillway(calendar, us);
        const theirs = asTemporal(reckoning, dateAt(us * 1000n), begin);
        if (own !== theirs) differences.push(`${timeZone} at ${us}: ${own}, not ${theirs}`);
      }
    }
  }
  return differences;
}
