/**
 * With a memory store, `consumeFirst` called itself for each alternative. A thousand of them took most of the stack: a
 * call from deep inside an app threw a `RangeError`.
 */

import { createLimiters } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { afterEach, expect, it } from 'vitest';

const hourly = { limit: 1, window: '1h' } as const;
const { stackTraceLimit } = Error;

afterEach(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

it('needs no more of the stack for the last alternative than for the first', () => {
  const depths: number[] = [];
  const onDecision = () => depths.push(String(new Error('here').stack).split('\n').length);
  const limiters = createLimiters(
    { customer: hourly, carrier: hourly },
    { clock: new ManualClock(), onDecision },
  );
  limiters.consume({ customer: 'c1' });
  const rejected = ['x', 'y', 'z'].map((carrier) => ({ customer: 'c1', carrier }));
  depths.length = 0;
  Error.stackTraceLimit = 1_000;
  expect(limiters.consumeFirst(rejected).alternative).toBe(-1);
  expect(limiters.consumeFirst([...rejected, { customer: 'c2', carrier: 'x' }])).toMatchObject({
    alternative: 3,
  });
  expect(depths).toHaveLength(14);
  expect(new Set(depths).size).toBe(1);
});
