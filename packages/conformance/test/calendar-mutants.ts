/** Stores that use another period than that of their clock, or keep another one than the latest. */

import type { Step } from '@spillway/core';
import { calendarNamed, makeCalendarRule, type Period } from '@spillway/core/store';
import { type Mutant, mutant, steps } from './mutant.js';

/** A store that changes the calendar of each step. */
function named(name: string, caughtBy: string, change: (calendar: string) => string): Mutant {
  return steps(name, caughtBy, (step) =>
    step.rule.machine === 'calendar'
      ? {
          ...step,
          rule: makeCalendarRule(step.rule.limit, calendarNamed(change(step.rule.calendar.name))),
        }
      : step,
  );
}

/** A store that changes the billing period of each step. */
function periods(name: string, caughtBy: string, change: (period: Period) => Period): Mutant {
  return steps(name, caughtBy, (step) =>
    step.period ? { ...step, period: change(step.period) } : step,
  );
}

/** A store that counts each period separately, as if its keys contained the date. */
function apart(name: string, caughtBy: string, of: (step: Step) => string): Mutant {
  return steps(name, caughtBy, (step) =>
    step.rule.machine === 'calendar' ? { ...step, key: `${step.key} ${of(step)}` } : step,
  );
}

/** The period of now in a row of periods like the given one, if that begins later. */
function earlier(period: Period | undefined, nowUs: number): Period | undefined {
  if (!period || nowUs >= period.startUs) return period;
  const lengthUs = period.endUs - period.startUs;
  const byUs = Math.ceil((period.startUs - nowUs) / lengthUs) * lengthUs;
  return { ...period, startUs: period.startUs - byUs, endUs: period.endUs - byUs };
}

export const calendarMutants: readonly Mutant[] = [
  named('counts days of UTC', 'ends a period by calendar', (name) => name.replace(/@.*/, '@UTC')),
  named('begins weeks on Monday', 'ends a period by calendar', (name) => name.replace('-7', '')),
  named('begins months on the 1st', 'ends a period by calendar', (name) => name.replace('-31', '')),
  steps('ignores billing periods', 'begins a later billing', (step) => ({
    ...step,
    period: undefined,
  })),
  periods('begins anew when a period moves', 'keeps a billing period', (period) => ({
    ...period,
    startUs: period.startUs + (period.startUs % 3_600_000_000) * 7_200,
  })),
  periods('takes no period for a later one', 'begins a later billing', (period) => ({
    ...period,
    startUs: 0,
  })),
  mutant('begins a period before the given one', 'waits for the next billing', (right, group) =>
    right.apply(group.map((step) => ({ ...step, period: earlier(step.period, right.nowUs) }))),
  ),
  apart(
    'counts each billing period apart',
    'keeps a billing period',
    ({ period }) => `${period?.startUs}`,
  ),
  apart('counts unknown billing periods apart', 'goes on when the billing period', ({ period }) =>
    period ? 'known' : '',
  ),
  mutant('has the date in its keys', 'goes on with a period by calendar', (right, group) => {
    const day = Math.floor(right.nowUs / 86_400_000_000);
    return right.apply(group.map((step) => ({ ...step, key: `${step.key} ${day}` })));
  }),
  steps('gives back in any period', 'gives back only in the period', (step) =>
    step.op === 'put' ? { ...step, op: 'record', cost: 0 } : step,
  ),
  apart('counts by ids', 'begins a later billing', ({ period }) => `${period?.label}`),
];
