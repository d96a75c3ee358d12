/** When the days, weeks and months of every time zone begin. */

import { calendarNamed, makeCalendarRule, periodsOf } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';

const DAY_MS = 86_400_000;
const FROM = Date.UTC(2026, 0, 1);
const TO = Date.UTC(2028, 0, 1);

/** What a clock in the zone shows, as if it were UTC. */
function clockIn(timeZone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    dateStyle: 'short',
    timeStyle: 'medium',
  });
  return (ms) => Date.parse(`${format.format(ms).replace(' ', 'T')}Z`);
}

function periodAt(calendar: string, ms: number) {
  const { current, next } = periodsOf(
    { rule: makeCalendarRule(1, calendarNamed(calendar)) },
    ms * 1000,
  );
  const [startMs, endMs] = [current.startUs / 1000, current.endUs / 1000];
  return { label: current.label, startMs, endMs, next };
}

/** The start and the end of a period, on a clock of its zone. */
function boundsOf(calendar: string, day: string): string {
  const timeZone = calendar.split('@')[1] as string;
  const local = clockIn(timeZone);
  const { label, startMs, endMs } = periodAt(calendar, Date.parse(`${day}T12:00:00Z`));
  const [start, end] = [startMs, endMs].map((ms) => new Date(local(ms)).toISOString().slice(0, 16));
  expect(label).toBe(`${start?.slice(0, label.indexOf('@'))}@${timeZone}`);
  return `${start} ${end} ${(endMs - startMs) / 3_600_000}`;
}

describe('a day', () => {
  it('begins at midnight of every zone, or when the clocks go over it, and ends with the next', () => {
    let changes = 0;
    for (const timeZone of Intl.supportedValuesOf('timeZone')) {
      const local = clockIn(timeZone);
      const { calendar } = makeCalendarRule(1, calendarNamed(`day@${timeZone}`));
      const offsetAt = (ms: number) => local(ms) - ms;
      for (let ms = FROM; ms < TO; ms += 7 * DAY_MS) {
        const hasChange = offsetAt(ms) !== offsetAt(ms + 7 * DAY_MS);
        if (!hasChange && ms !== FROM) continue;
        if (hasChange) changes += 1;
        // The days of the week in which the clocks change, and those around it.
        let { current, next } = calendar.around((ms - DAY_MS) * 1000);
        for (let day = 0; day < 10; day += 1) {
          const [date] = current.label.split('@');
          const startMs = current.startUs / 1000;
          const shown = new Date(local(startMs)).toISOString();
          expect(`${shown.slice(0, 10)}@${timeZone}`).toBe(current.label);
          expect(new Date(local(startMs - 1000)).toISOString().slice(0, 10) < `${date}`).toBe(true);
          const jumped = offsetAt(startMs) > offsetAt(startMs - 1000);
          if (!jumped) expect(shown.slice(11, 19)).toBe('00:00:00');
          expect(next.startUs).toBe(current.endUs);
          expect(calendar.around(current.endUs - 1).current).toEqual(current);
          ({ current, next } = calendar.around(current.endUs));
        }
      }
    }
    expect(changes).toBeGreaterThan(400);
  });

  it.each([
    ['day@Europe/Berlin', '2026-03-29', '2026-03-29T00:00 2026-03-30T00:00 23'],
    ['day@Europe/Berlin', '2026-10-25', '2026-10-25T00:00 2026-10-26T00:00 25'],
    ['day@America/New_York', '2027-03-14', '2027-03-14T00:00 2027-03-15T00:00 23'],
    ['day@Australia/Lord_Howe', '2026-10-04', '2026-10-04T00:00 2026-10-05T00:00 23.5'],
    ['day@Australia/Lord_Howe', '2027-04-04', '2027-04-04T00:00 2027-04-05T00:00 24.5'],
    ['day@Asia/Kathmandu', '2026-07-01', '2026-07-01T00:00 2026-07-02T00:00 24'],
    // Midnight does not exist: the clocks go from 0:00 to 1:00.
    ['day@Asia/Beirut', '2026-03-29', '2026-03-29T01:00 2026-03-30T00:00 23'],
    ['day@Africa/Cairo', '2026-04-24', '2026-04-24T01:00 2026-04-25T00:00 23'],
    // It is midnight twice: the clocks go from 1:00 to 0:00.
    ['day@America/Havana', '2026-11-01', '2026-11-01T00:00 2026-11-02T00:00 25'],
  ])('%s on %s is %s hours', (calendar, day, bounds) => {
    expect(boundsOf(calendar, day)).toBe(bounds);
  });
});

describe('a week', () => {
  it.each([
    ['week@UTC', '2026-11-29', '2026-11-23T00:00 2026-11-30T00:00 168'],
    ['week@UTC', '2026-11-30', '2026-11-30T00:00 2026-12-07T00:00 168'],
    ['week-7@UTC', '2026-11-28', '2026-11-22T00:00 2026-11-29T00:00 168'],
    ['week-7@UTC', '2026-11-29', '2026-11-29T00:00 2026-12-06T00:00 168'],
    ['week-4@UTC', '1970-01-01', '1970-01-01T00:00 1970-01-08T00:00 168'],
    ['week@UTC', '1970-01-01', '1969-12-29T00:00 1970-01-05T00:00 168'],
    ['week@Europe/Berlin', '2026-10-22', '2026-10-19T00:00 2026-10-26T00:00 169'],
    ['week@America/New_York', '2027-03-10', '2027-03-08T00:00 2027-03-15T00:00 167'],
  ])('%s on %s is %s hours', (calendar, day, bounds) => {
    expect(boundsOf(calendar, day)).toBe(bounds);
  });
});

describe('a month', () => {
  it.each([
    ['month@UTC', '2026-12-31', '2026-12-01T00:00 2027-01-01T00:00 744'],
    ['month@UTC', '2028-02-29', '2028-02-01T00:00 2028-03-01T00:00 696'],
    ['month@Europe/Berlin', '2026-03-31', '2026-03-01T00:00 2026-04-01T00:00 743'],
    ['month@Pacific/Kiritimati', '2026-02-28', '2026-03-01T00:00 2026-04-01T00:00 744'],
    ['month-15@UTC', '2026-11-14', '2026-10-15T00:00 2026-11-15T00:00 744'],
    ['month-15@UTC', '2026-11-15', '2026-11-15T00:00 2026-12-15T00:00 720'],
    ['month-29@UTC', '2026-02-27', '2026-01-29T00:00 2026-02-28T00:00 720'],
    ['month-29@UTC', '2026-02-28', '2026-02-28T00:00 2026-03-29T00:00 696'],
    ['month-29@UTC', '2028-02-29', '2028-02-29T00:00 2028-03-29T00:00 696'],
    ['month-30@UTC', '2026-03-01', '2026-02-28T00:00 2026-03-30T00:00 720'],
    ['month-31@UTC', '2026-01-31', '2026-01-31T00:00 2026-02-28T00:00 672'],
    ['month-31@UTC', '2026-03-30', '2026-02-28T00:00 2026-03-31T00:00 744'],
    ['month-31@UTC', '2026-04-30', '2026-04-30T00:00 2026-05-31T00:00 744'],
    ['month-31@UTC', '2027-01-01', '2026-12-31T00:00 2027-01-31T00:00 744'],
    ['month-31@UTC', '2028-02-29', '2028-02-29T00:00 2028-03-31T00:00 744'],
  ])('%s on %s is %s hours', (calendar, day, bounds) => {
    expect(boundsOf(calendar, day)).toBe(bounds);
  });

  it('is labelled by its month, and by its first day if that is not the 1st', () => {
    const label = (calendar: string) => periodAt(calendar, Date.UTC(2026, 10, 30)).label;
    expect(label('month@Europe/Berlin')).toBe('2026-11@Europe/Berlin');
    expect(label('month-31@UTC')).toBe('2026-11-30@UTC');
  });
});
