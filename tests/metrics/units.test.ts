/** The units events of a request add up to what it costs. */

import {
  type Admission,
  calendar,
  createGuard,
  memoryStore,
  meter,
  partial,
  rateLimit,
} from '@spillway/core';
import { Tally } from '@spillway/core/adapter';
import { ManualClock } from '@spillway/core/testing';
import fc from 'fast-check';
import { request } from 'spillway-testkit';
import { expect, it } from 'vitest';

const units = fc.nat({ max: 50 });

it('reserved plus added minus returned units are the cost of a request, however it ends', () => {
  fc.assert(
    fc.property(
      fc.record({
        reserve: units,
        added: fc.array(units, { maxLength: 4 }),
        settled: fc.option(units),
        outcome: fc.constantFrom({ status: 200 }, { status: 503 }, { aborted: true }),
        late: fc.option(units),
        keeps: fc.boolean(),
      }),
      ({ reserve, added, settled, outcome, late, keeps }) => {
        const clock = new ManualClock();
        const tally = new Tally();
        const rows = meter<number>({
          reserve: () => reserve,
          ...(keeps ? {} : { onCut: partial() }),
        });
        const limiter = rateLimit({
          name: 'rows',
          limit: 1_000,
          window: calendar('month'),
          key: () => 'ada',
          cost: rows.cost((count) => count),
        });
        const store = memoryStore({ clock });
        const guard = createGuard(limiter, { clock, store, observers: [tally] });
        const admission = guard.admit(request()) as Admission;
        const spent = rows.of(admission);
        for (const more of added) {
          clock.advance(1_100);
          spent.add(more);
        }
        if (settled !== null) spent.settle(settled);
        void admission.release(outcome);
        if (late !== null) spent.settle(late);
        const told = (kind: 'reserved' | 'added' | 'returned') => tally.units(kind)[0]?.value ?? 0;
        const cost = told('reserved') + told('added') - told('returned');
        expect(cost).toBe(spent.snapshot().rows?.charged);
      },
    ),
  );
});
