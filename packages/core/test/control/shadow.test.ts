/** A limiter set to shadow live: invisible to clients, and its counts are those of a twin that enforces. */

import {
  type Admission,
  createGuard,
  type DecisionEvent,
  memoryControl,
  memoryStore,
  rateLimit,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

const ada = { by: 'ada', because: 'a test' } as const;
const shown = { name: 'shown', limit: 50, window: '1m' } as const;
const tried = {
  name: 'tried',
  limit: 3,
  window: '1m',
  key: (of: { header(name: string): string | undefined }) => of.header('x-user'),
} as const;

/** Everything of an admission that a client can see. */
const seen = ({ allowed, status, headers, body }: Admission) => ({
  allowed,
  status,
  headers,
  body,
});

/** Some arrivals: users come more or less often, at uneven intervals. */
const arrivals = Array.from({ length: 400 }, (_, number) => ({
  user: `user-${(number * number) % 7}`,
  afterMs: (number * 37) % 900,
}));

describe('a limiter set to shadow live', () => {
  it('changes not a byte of what a client gets', () => {
    const clock = new ManualClock();
    const control = memoryControl({ clock });
    control.set('tried', { mode: 'shadow' }, { ...ada, for: '1d' });
    const store = () => memoryStore({ clock });
    const without = createGuard(rateLimit(shown), { store: store() });
    const withIt = createGuard([rateLimit(shown), rateLimit(tried)], { store: store(), control });
    let refused = 0;
    for (const { user, afterMs } of arrivals) {
      clock.advance(afterMs);
      const of = request({ headers: { 'x-user': user } });
      const [plain, tryout] = [without.admit(of) as Admission, withIt.admit(of) as Admission];
      expect(seen(tryout)).toEqual(seen(plain));
      if (!plain.allowed) refused += 1;
    }
    expect(refused).toBeGreaterThan(0); // both admitted and rejected requests were compared
  });

  it('would deny exactly what an enforcing twin denies, with the same numbers', () => {
    const clock = new ManualClock();
    const control = memoryControl({ clock });
    control.set('tried', { mode: 'shadow' }, { ...ada, for: '1d' });
    const events: DecisionEvent[][] = [[], []];
    const [shadow, twin] = [{ control }, {}].map((options, index) =>
      createGuard(rateLimit(tried), {
        store: memoryStore({ clock }),
        onDecision: (event) => events[index]?.push(event),
        ...options,
      }),
    );
    for (const { user, afterMs } of arrivals) {
      clock.advance(afterMs);
      for (const guard of [shadow, twin]) guard?.admit(request({ headers: { 'x-user': user } }));
    }
    const [tryouts = [], enforced = []] = events;
    expect(tryouts.map(({ outcome }) => outcome)).toEqual(
      enforced.map(({ outcome }) => (outcome === 'denied' ? 'would-deny' : outcome)),
    );
    const numbers = ({ remaining, retryAfterMs, resetMs, cost, reason }: DecisionEvent) => ({
      remaining,
      retryAfterMs,
      resetMs,
      cost,
      reason,
    });
    expect(tryouts.map(numbers)).toEqual(enforced.map(numbers));
    expect(enforced.filter(({ allowed }) => !allowed).length).toBeGreaterThan(50);
  });

  it('keeps the count when it is enforced again', () => {
    const clock = new ManualClock();
    const control = memoryControl({ clock });
    const guard = createGuard(rateLimit({ ...tried, limit: 2 }), {
      store: memoryStore({ clock }),
      control,
    });
    const admit = () =>
      (guard.admit(request({ headers: { 'x-user': 'ada' } })) as Admission).allowed;
    control.set('tried', { mode: 'shadow' }, ada);
    expect([admit(), admit(), admit()]).toEqual([true, true, true]);
    control.clear('tried', ada);
    expect(admit()).toBe(false);
  });
});
