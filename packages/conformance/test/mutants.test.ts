/** The checks can fail: each wrong store is caught by the check that it names. */

import { describe, expect, it } from 'vitest';
import { storeConformance } from '../src/index.js';
import { anchoredMutants, rightCounter } from './anchored-mutants.js';
import { calendarMutants } from './calendar-mutants.js';
import { claimMutants } from './claim-mutants.js';
import { countMutants } from './count-mutants.js';
import { debtMutants } from './debt-mutants.js';
import { distinctMutants } from './distinct-mutants.js';
import { logMutants } from './log-mutants.js';
import type { Mutant } from './mutant.js';
import { mutants } from './mutants.js';
import { naiveStores, openSlidingWindow } from './naive-stores.js';
import { penaltyMutants } from './penalty-mutants.js';
import { putMutants } from './put-mutants.js';
import { queueMutants } from './queue-mutants.js';

/** Runs the checks whose names begin with `caughtBy`. Resolves to the messages of those that fail. */
async function failures({ open, caughtBy }: Omit<Mutant, 'name'>): Promise<string[]> {
  const checks = storeConformance({ open }).filter(({ name }) => name.startsWith(caughtBy));
  expect(checks.length).toBeGreaterThan(0);
  const results = await Promise.allSettled(checks.map(({ run }) => run()));
  return results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
}

describe('a store is caught that', () => {
  for (const mutant of [
    ...mutants,
    ...countMutants,
    ...putMutants,
    ...anchoredMutants,
    ...calendarMutants,
    ...penaltyMutants,
    ...debtMutants,
    ...distinctMutants,
    ...logMutants,
    ...queueMutants,
    ...claimMutants,
    ...naiveStores,
  ]) {
    it(mutant.name, async () => {
      expect(await failures(mutant)).not.toEqual([]);
    });
  }
});

describe('a store is not caught that', () => {
  it.each(['begins an anchored', 'begins no anchored', 'ends an anchored', 'keeps an anchored'])(
    'counts anchored windows of one key at a time, by the check that %s',
    async (caughtBy) => expect(await failures({ open: rightCounter, caughtBy })).toEqual([]),
  );

  it('rounds the window before up, which is exact for whole units', async () => {
    const open = () => openSlidingWindow(Math.ceil);
    const caughtBy = naiveStores.find(
      ({ name }) => name === 'rounds the window before down',
    )?.caughtBy;
    expect(await failures({ open, caughtBy: caughtBy as string })).toEqual([]);
  });
});

describe('a failed replay', () => {
  it('tells the field, both values, the rule, the shrunk trace, and the seed', async () => {
    const coarse = mutants.find(({ name }) => name === 'decides in whole milliseconds') as Mutant;
    const [message] = await failures({ ...coarse, caughtBy: 'replays sliding-window-log' });
    expect(message).toMatchInlineSnapshot(`
      "Error: step 1, retryAfterMs: expected 1, got 0.876
      rules:
        limiter-114: sliding-window-log 1 per 1000 us
      steps:
        1. at 1767225600000124  take 1 of limiter-114/key-0
      (seed 20260101, run 1, shrunk 26 times)"
    `);
  });
});
