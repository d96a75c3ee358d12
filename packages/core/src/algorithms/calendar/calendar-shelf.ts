import type { Ask, CalendarAnswer } from '../../contract/ask.js';
import type { CalendarRule } from '../../contract/rule.js';
import type { Shelf, ShelfStep } from '../../contract/shelf.js';
import { type Expiring, KeyedStates } from '../shelves/keyed-states.js';
import { type CalendarState, periodsOf, stepCalendar, unusedCalendar } from './calendar-step.js';

type StoredCalendar = Omit<CalendarState, 'dirty' | 'label' | 'endUs' | 'forgiven'> & Expiring;

const UNUSED: StoredCalendar = { startUs: 0, expiresUs: 0, current: 0 };

export class CalendarShelf implements Shelf<CalendarRule, StoredCalendar> {
  readonly grows = false;
  private readonly states = new KeyedStates<StoredCalendar>();
  /** A copy of the key's state, which a step changes. It is stored only if it is dirty. */
  private readonly working = unusedCalendar();

  get size(): number {
    return this.states.size;
  }

  find({ limiter, rule, key }: Ask<CalendarRule>): StoredCalendar | undefined {
    return this.states.get(limiter, rule.code, key);
  }

  stepStored(ask: Ask<CalendarRule>, nowUs: number, charge: boolean): CalendarAnswer | undefined {
    const count = this.find(ask);
    return count && this.step({ ask, nowUs, charge, mayGrow: true, count });
  }

  step(step: ShelfStep<CalendarRule, StoredCalendar>): CalendarAnswer {
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
    const { startUs, endUs, current, forgiven } = state;
    if (state.dirty) this.keep(ask, count, state);
    return { allowed, nowUs, startUs, endUs, current, forgiven };
  }

  expiresAtUs(_: CalendarRule, { endUs }: CalendarAnswer): number {
    return endUs;
  }

  reclaim(nowUs: number): void {
    this.states.reclaim(nowUs, () => undefined);
  }

  private keep(
    { op, limiter, rule, key }: Ask<CalendarRule>,
    stored: StoredCalendar | undefined,
    { startUs, endUs, current }: CalendarState,
  ): void {
    if (op === 'reset') this.states.delete(limiter, rule.code, key);
    else if (stored) {
      stored.startUs = startUs;
      stored.expiresUs = endUs;
      stored.current = current;
    } else {
      this.states.set(limiter, rule.code, key, { startUs, expiresUs: endUs, current });
    }
  }
}
