/** How the parts of a group are called: which calls are made, and which ones no deadline may prevent. */

import type { Step } from '@spillway/core';
import { askParts, makeRule, partsOf } from '@spillway/core/store';
import { expect, it } from 'vitest';

const rule = makeRule('fixed-window', 5, 60_000_000);

function take(key: string): Step {
  return { op: 'take', limiter: 'api', key, rule, cost: 1, binding: true };
}

/** Sends a group in which each key is a separate part. Returns the calls; refunds have a `!`. */
async function callsOf(steps: readonly Step[], full: readonly string[]): Promise<string[]> {
  const calls: string[] = [];
  await askParts(
    partsOf(steps, ({ key }) => key),
    (own, key, always) => {
      calls.push(`${own[0]?.op} ${key}${always ? '!' : ''}`);
      const allowed = !full.includes(key);
      return own.map(() => ({ allowed, nowUs: 1, startUs: 0, current: 1, previous: 0 }));
    },
  );
  return calls.sort();
}

it('puts back without a deadline what other parts took', async () => {
  expect(await callsOf([take('ada'), take('bob')], ['bob'])).toEqual([
    'put ada!',
    'take ada',
    'take bob',
  ]);
});
