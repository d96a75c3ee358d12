/** A guard in memory with a manual clock, and everything that its observers get. */

import {
  type Admission,
  createGuard,
  type DecisionEvent,
  type Fault,
  type GuardOptions,
  type Limiter,
  memoryStore,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';

export function setUp(limiters: Limiter | readonly Limiter[], options: GuardOptions = {}) {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const events: DecisionEvent[] = [];
  const faults: Fault[] = [];
  const guard = createGuard(limiters, {
    store,
    onDecision: (event) => events.push(event),
    onFault: (fault) => faults.push(fault),
    ...options,
  });
  const admit = (of: Parameters<typeof request>[0] = {}): Admission => {
    const admission = guard.admit(request(of));
    if (admission instanceof Promise) throw new Error('a promise from a synchronous store');
    return admission;
  };
  return { clock, store, guard, admit, events, faults };
}

export const two = { name: 'two', limit: 2, window: '1m' } as const;
