/**
 * During a pause, a step of cost 0 under a rule with waits was allowed, but its answer said to wait for the end of the
 * pause.
 */

import { type Answer, memoryStore, type Step } from '@spillway/core';
import { makeShaperRule, measure } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { expect, it } from 'vitest';

it('waits for nothing, also during a pause', () => {
  const rule = makeShaperRule(1, 1_000_000, 1, 1_000_000);
  const store = memoryStore({ clock: new ManualClock() });
  const ask = (op: Step['op'], cost: number, holdUs = 0) => {
    const step: Step = { op, limiter: 'calls', key: 'ada', rule, cost, binding: true, holdUs };
    const [answer] = store.apply([step]) as readonly [Answer];
    return { allowed: answer.allowed, retryAfterMs: measure(rule, answer, cost).retryAfterMs };
  };
  ask('hold', 0, 5_000_000);
  expect(ask('take', 0)).toEqual({ allowed: true, retryAfterMs: 0 });
  expect(ask('look', 0)).toEqual({ allowed: true, retryAfterMs: 0 });
  // The slot after the pause begins 1 s after it, and can be taken 1 s in advance.
  expect(ask('take', 1)).toEqual({ allowed: false, retryAfterMs: 4_000 });
});
