/** Counts by calendar as stored text, as in Redis: `label start end current`. */

import type { Ask, CalendarAnswer } from '../../contract/ask.js';
import type { CalendarRule } from '../../contract/rule.js';
import type { Step } from '../../contract/store.js';
import { type StoredCount, unknownFormat, wholeNumber } from '../stored-count.js';
import { type CalendarState, stepCalendar, unusedCalendar } from './calendar-step.js';

/** The label may contain spaces and line separators. */
const FORM = /^(.+) (\d+) (\d+) (\d+)$/s;

export function readCalendar(text: string | undefined): StoredCount {
  return new StoredCalendar(text === undefined ? unusedCalendar() : calendarOf(text));
}

function calendarOf(text: string): CalendarState {
  const match = FORM.exec(text);
  if (!match) throw unknownFormat();
  const [, label = ''] = match;
  const [startUs = 0, endUs = 0, current = 0] = match
    .slice(2)
    .map((part) => wholeNumber(Number(part)));
  return { dirty: false, label, startUs, endUs, current, forgiven: undefined };
}

class StoredCalendar implements StoredCount {
  changed = false;
  expiresUs = 0;
  private state: CalendarState;

  constructor(state: CalendarState) {
    this.state = state;
  }

  step(step: Step, nowUs: number, charge: boolean): CalendarAnswer {
    // A copy, because a step that charges nothing must not move the count to another period.
    const state = { ...this.state, dirty: false };
    const allowed = stepCalendar(step as Ask<CalendarRule>, state, nowUs, charge);
    const { dirty, startUs, endUs, current, forgiven } = state;
    if (dirty) {
      this.state = state;
      this.changed = true;
      this.expiresUs = step.op === 'reset' ? 0 : endUs;
    }
    return { allowed, nowUs, startUs, endUs, current, forgiven };
  }

  text(): string {
    const { label, startUs, endUs, current } = this.state;
    return `${label} ${startUs} ${endUs} ${current}`;
  }
}
