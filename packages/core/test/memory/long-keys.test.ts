/** How much memory long keys take, measured. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { memoryStore, type Step } from '@spillway/core';
import { makeLeasesRule, makeRule } from '@spillway/core/store';
import { expect, it } from 'vitest';

const HOUR = 3_600_000_000;
const KEYS = 100;
const LENGTH = 1 << 19;

const rules = {
  'token-bucket': makeRule('token-bucket', 1, HOUR),
  'fixed-window': makeRule('fixed-window', 1, HOUR),
  'sliding-window-log': makeRule('sliding-window-log', 1, HOUR),
  leases: makeLeasesRule(1, HOUR),
};

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

it.each(Object.entries(rules))('does not keep long keys, and tells them apart (%s)', (_, rule) => {
  const store = memoryStore();
  // Made anew each time, as a flat string: only the store could retain it.
  const take = (i: number, id: string): boolean | undefined => {
    const key = Buffer.alloc(LENGTH, `${i} `).toString('latin1');
    const lease = { id, critical: false };
    const step: Step = { op: 'take', limiter: 'api', key, rule, cost: 1, binding: true, lease };
    return store.apply([step])[0]?.allowed;
  };
  const before = heapBytes();
  for (let i = 0; i < KEYS; i += 1) expect(take(i, 'first')).toBe(true);
  expect(heapBytes() - before).toBeLessThan((KEYS * LENGTH) / 5);
  for (let i = 0; i < KEYS; i += 1) expect(take(i, 'second')).toBe(false);
});
