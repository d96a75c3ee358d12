/**
 * A record of 2^53 - 1 under a calendar limit with debt charges what fits, and the rest is forgiven. The store in Redis
 * added beyond 2^53 and rounded, so it forgave one unit more than the memory store.
 */

import type { Step } from '@spillway/core';
import { calendarNamed, makeCalendarRule, withDebt } from '@spillway/core/store';
import { expect, it } from 'vitest';
import { onBothStores } from './both-stores.js';

onBothStores(14, (open) => {
  it.each([1, 2, 3, 4])('with %i counted before', async (counted) => {
    const { store } = open();
    const rule = withDebt(makeCalendarRule(10, calendarNamed('day@UTC')), 10, 10);
    const record = (cost: number): Step => {
      return { op: 'record', limiter: 'api', key: 'ada', rule, cost, binding: true };
    };
    await store.apply([record(counted)]);
    const [answer] = await store.apply([record(Number.MAX_SAFE_INTEGER)]);
    expect(answer).toMatchObject({ forgiven: Number.MAX_SAFE_INTEGER - (20 - counted) });
  });
});
