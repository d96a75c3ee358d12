import { type Admission, createGuard, meter, rateLimit, memoryStore, type UnitsEvent } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { expect, it } from 'vitest';

it('settles', () => {
  const clock = new ManualClock();
  const rows = meter({ reserve: () => 40 });
  const events: UnitsEvent[] = [];
  const guard = createGuard(rateLimit({ name: 'rows', limit: 100, window: '1m', key: () => 'ada', cost: rows.cost((n) => n) }), { clock, store: memoryStore({ clock }), observers: [{ onUnits: (e) => events.push(e) }] });
  const one = guard.admit(request()) as Admission;
  expect(one.decisions[0]?.remaining).toBe(60);
  const spent = rows.of(one);
  expect(spent.settle(12)).toBe(true);
  expect(spent.settle(13)).toBe(false);
  expect(spent.snapshot()).toEqual({ rows: { requested: 40, charged: 12, remaining: 88, resetMs: 24_000, estimated: true } });
  one.release({ status: 200 });
  expect(spent.snapshot()).toEqual({ rows: { requested: 40, charged: 12, remaining: 88, resetMs: 7_200, estimated: false } });
  expect(events).toEqual([]);
});
