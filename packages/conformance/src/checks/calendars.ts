import { calendarNamed, makeCalendarRule, type Period } from '@spillway/core/store';
import type { Check, Harness } from '../harness.js';
import type { Subject } from '../oracle.js';
import { check, expectEqual, type Probe, receiptOf } from '../probe.js';

const HOUR_US = 3_600_000_000;
const DAY_US = 24 * HOUR_US;

export function calendarChecks(harness: Harness): Check[] {
  return [
    check('ends a period by calendar in its time zone', harness, endsInItsZone),
    check('goes on with a period by calendar when the clock goes back', harness, goesOn),
    check('keeps a billing period that moves by a second', harness, keepsWhatMoves),
    check('begins a later billing period, and keeps it', harness, beginsALater),
    check('waits for the next billing period', harness, waitsForTheNext),
    check('goes on when the billing period becomes known', harness, goesOnWhenKnown),
    check('gives back only in the period by calendar that was charged', harness, givesBack),
  ];
}

const us = (text: string): number => Date.parse(text) * 1000;

async function endsInItsZone(probe: Probe): Promise<void> {
  const rows = [
    ['day@America/New_York', '2026-11-01T04:00:00Z', '2026-11-02T05:00:00Z'],
    ['day@Asia/Beirut', '2026-03-28T22:00:00Z', '2026-03-29T21:00:00Z'],
    ['week@UTC', '2026-11-23T00:00:00Z', '2026-11-30T00:00:00Z'],
    ['week-7@Europe/Berlin', '2026-10-24T22:00:00Z', '2026-10-31T23:00:00Z'],
    ['month@Europe/Berlin', '2026-02-28T23:00:00Z', '2026-03-31T22:00:00Z'],
    ['month-31@UTC', '2028-01-31T00:00:00Z', '2028-02-29T00:00:00Z'],
  ] as const;
  for (const [name, start, end] of rows) {
    const subject = probe.fresh(makeCalendarRule(2, calendarNamed(name)));
    await probe.at(us(start) - 1);
    await probe.ask('take', subject, 2);
    await probe.at(us(start));
    const first = await probe.ask('take', subject);
    expectEqual(`${name} at ${start}: remaining`, 1, first.remaining);
    expectEqual(`${name} at ${start}: resetMs`, (us(end) - us(start)) / 1000, first.resetMs);
    await probe.at(us(end) - 1);
    await probe.ask('take', subject);
    const refused = await probe.ask('take', subject);
    expectEqual(`${name}, 1 us before ${end}: retryAfterMs`, 0.001, refused.retryAfterMs);
  }
}

/** If the store's clock goes back over midnight, units must still count in the day that has begun. */
async function goesOn(probe: Probe): Promise<void> {
  const subject = probe.fresh(makeCalendarRule(3, calendarNamed('day@UTC')));
  const midnight = us('2026-11-30T00:00:00Z');
  await probe.at(midnight);
  for (const [index, moved] of [1, -1, HOUR_US, -HOUR_US, 0].entries()) {
    await probe.at(midnight + moved);
    const { remaining } = await probe.ask('take', subject);
    expectEqual(`take ${index + 1}: remaining`, Math.max(0, 2 - index), remaining);
  }
}

const START_US = us('2026-11-01T00:00:00Z');

/** Days are counted from {@link START_US}. */
function billing(probe: Probe) {
  const subject = probe.fresh(makeCalendarRule(10, calendarNamed('billing')));
  return (label: string, from: number, to: number): Subject => {
    const [startUs, endUs] = [from, to].map((day) => START_US + Math.round(day * DAY_US));
    return { ...subject, period: { label, startUs, endUs } as Period };
  };
}

const SECOND = 1 / 86_400;

async function keepsWhatMoves(probe: Probe): Promise<void> {
  const within = billing(probe);
  await probe.at(START_US + DAY_US);
  const left = async (subject: Subject) => (await probe.ask('take', subject)).remaining;
  expectEqual('first: remaining', 9, await left(within('a', 0, 30)));
  expectEqual('a second later: remaining', 8, await left(within('a', SECOND, 30 + SECOND)));
  expectEqual('an hour earlier: remaining', 7, await left(within('b', -1 / 24, 30)));
  await probe.at(START_US + 31 * DAY_US);
  expectEqual('after its end, as told before: remaining', 9, await left(within('a', 0, 30)));
  expectEqual('the next, told late: remaining', 8, await left(within('b', 30 + SECOND, 61)));
  const look = await probe.ask('look', within('b', 30 + SECOND, 61));
  expectEqual('the next: resetMs', (30 * DAY_US) / 1000, look.resetMs);
}

async function beginsALater(probe: Probe): Promise<void> {
  const within = billing(probe);
  await probe.at(START_US + 16 * DAY_US);
  const left = async (subject: Subject) => (await probe.ask('take', subject)).remaining;
  expectEqual('first: remaining', 9, await left(within('a', 0, 30)));
  expectEqual('a later one: remaining', 9, await left(within('b', 15, 45)));
  expectEqual('the older one: remaining', 8, await left(within('a', 0, 30)));
  const look = await probe.ask('look', within('a', 0, 30));
  expectEqual('the older one: resetMs', (29 * DAY_US) / 1000, look.resetMs);
  await probe.at(START_US + 45 * DAY_US);
  expectEqual('the end of the later one: remaining', 9, await left(within('c', 45, 75)));
}

/**
 * A process may know the next period before it begins, for example because its clock is ahead. Until then, its requests
 * count in the current period.
 */
async function waitsForTheNext(probe: Probe): Promise<void> {
  const left = async (subject: Subject) => (await probe.ask('take', subject)).remaining;
  for (const length of [28, 31, 33]) {
    for (const first of ['this', 'next'] as const) {
      const name = `next of ${length} days, ${first} one first`;
      const within = billing(probe);
      const own = within('this', 0, 31);
      const next = within('next', 31, 31 + length);
      await probe.at(START_US + 10 * DAY_US);
      if (first === 'this') await probe.ask('take', own, 0);
      await probe.at(START_US + 30 * DAY_US);
      expectEqual(`${name}: remaining`, 9, await left(first === 'this' ? own : next));
      expectEqual(`${name}, the other: remaining`, 8, await left(first === 'this' ? next : own));
      expectEqual(`${name}, both: remaining`, 7, await left(next));
      const look = await probe.ask('look', next);
      expectEqual(`${name}: resetMs`, DAY_US / 1000, look.resetMs);
      await probe.at(START_US + 31 * DAY_US);
      expectEqual(`${name}, when it begins: remaining`, 9, await left(next));
    }
  }
}

/**
 * The app may at first not know a subscription's billing period, or know only the next one. When the app learns the
 * current period, the units used so far must still count.
 */
async function goesOnWhenKnown(probe: Probe): Promise<void> {
  const within = billing(probe);
  const own = within('own', 0, 31);
  const next = within('next', 15, 45);
  const unknown = { ...own, period: undefined };
  await probe.at(START_US + DAY_US);
  const left = async (subject: Subject) => (await probe.ask('take', subject)).remaining;
  expectEqual('next: remaining', 9, await left(next));
  const { answer } = await probe.ask('take', unknown, 2);
  const look = await probe.ask('look', unknown);
  expectEqual('unknown: resetMs', (14 * DAY_US) / 1000, look.resetMs);
  expectEqual('known: remaining', 6, await left(own));
  const put = await probe.ask('put', own, 2, { receipt: receiptOf(answer, 2) });
  expectEqual('given back: remaining', 8, put.remaining);
  const known = await probe.ask('look', own);
  expectEqual('known: resetMs', (30 * DAY_US) / 1000, known.resetMs);
  await probe.at(START_US + 16 * DAY_US);
  expectEqual('the next, when it begins: remaining', 9, await left(next));
}

async function givesBack(probe: Probe): Promise<void> {
  const subject = probe.fresh(makeCalendarRule(3, calendarNamed('day@UTC')));
  await probe.at(us('2026-11-30T23:59:59Z'));
  const { answer } = await probe.ask('take', subject, 2);
  const put = await probe.ask('put', subject, 1, { receipt: receiptOf(answer, 2) });
  expectEqual('the same day: remaining', 2, put.remaining);
  await probe.pass(1_000_000);
  await probe.ask('take', subject, 2);
  const late = await probe.ask('put', subject, 1, { receipt: receiptOf(answer, 1) });
  expectEqual('the next day: allowed', false, late.allowed);
  expectEqual('the next day: remaining', 1, late.remaining);
}
