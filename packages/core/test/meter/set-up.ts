/** A guard in memory whose limits are priced by a meter, with a manual clock. */

import {
  type Admission,
  createGuard,
  type Fault,
  type GuardOptions,
  type Limiter,
  memoryStore,
  type UnitsEvent,
  type UnitsKind,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';

export function setUp(limiters: Limiter | readonly Limiter[], options: GuardOptions = {}) {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const faults: Fault[] = [];
  const events: UnitsEvent[] = [];
  const guard = createGuard(limiters, {
    clock,
    store,
    onFault: (fault) => faults.push(fault),
    observers: [{ onUnits: (event) => events.push(event) }],
    ...options,
  });
  const admit = (of: Parameters<typeof request>[0] = {}): Admission => {
    const admission = guard.admit(request(of));
    if (admission instanceof Promise) throw new Error('a promise from a synchronous store');
    return admission;
  };
  const [first] = Array.isArray(limiters) ? limiters : [limiters as Limiter];
  const looking = createGuard(looked(first as Limiter), { clock, store });
  /** The numbers of a caller. */
  const numbers = (raw: unknown = 'ada') =>
    (looking.admit(request({ raw })) as Admission).decisions[0];
  const units = (kind: UnitsKind): number =>
    events.reduce((sum, event) => sum + (event.kind === kind ? event.units : 0), 0);
  return { clock, store, guard, admit, numbers, faults, events, units };
}

/** The limiter, which only looks. `raw` of the request is the key. */
function looked(limiter: Limiter): Limiter<unknown> {
  if (limiter.kind !== 'stored') throw new Error('a local limiter');
  const { name, rule } = limiter;
  return {
    kind: 'stored',
    name,
    named: true,
    mode: 'enforce',
    rule,
    step: ({ raw }) => ({ op: 'look', limiter: name, key: `${raw}`, rule, cost: 1, binding: true }),
    decide: (step, answer) => limiter.decide(step, answer),
  };
}

export const key = () => 'ada';
