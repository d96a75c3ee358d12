/** `retryAfterMs` promised a wait for costs that passed at once: a cost of 0, and any cost while the clock stood before its window. */

import { createLimiter, memoryStore, type Step } from '@spillway/core';
import { algorithmByName } from '@spillway/core/algorithms';
import { makeRule, measure } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { expect, it } from 'vitest';

it.each(['token-bucket', 'fixed-window', 'sliding-window-counter', 'sliding-window-log'] as const)(
  'a cost of 0 never waits (%s)',
  (algorithm) => {
    const limiter = createLimiter({
      name: 'a',
      limit: 2,
      window: '1m',
      algorithm: algorithmByName(algorithm),
    });
    limiter.consume('ada', { cost: 2 });
    expect(limiter.consume('ada', { cost: 0 })).toMatchObject({ allowed: true, retryAfterMs: 0 });
  },
);

it('a cost that passes does not wait for the window to begin after the clock went back', () => {
  const clock = new ManualClock(120_000_000);
  const store = memoryStore({ clock });
  const rule = makeRule('fixed-window', 5, 60_000_000);
  const step: Step = { op: 'take', limiter: 'a', key: 'ada', rule, cost: 1, binding: true };
  store.apply([step]);
  clock.setUs(110_000_000);
  const [answer] = store.apply([step]);
  expect(answer?.allowed).toBe(true);
  expect(answer && measure(rule, answer, 1).retryAfterMs).toBe(0);
});
