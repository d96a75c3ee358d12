import { anchoredChecks } from './checks/anchored.js';
import { calendarChecks } from './checks/calendars.js';
import { claimGroupChecks } from './checks/claim-groups.js';
import { claimChecks } from './checks/claims.js';
import { clockChecks } from './checks/clocks.js';
import { countChecks } from './checks/counts.js';
import { debtChecks } from './checks/debts.js';
import { distinctChecks } from './checks/distincts.js';
import { groupChecks } from './checks/groups.js';
import { keyChecks } from './checks/keys.js';
import { leaseChecks } from './checks/leases.js';
import { logChecks } from './checks/logs.js';
import { operationChecks } from './checks/operations.js';
import { partialPutChecks } from './checks/partial-puts.js';
import { pauseChecks } from './checks/pauses.js';
import { penaltyChecks } from './checks/penalties.js';
import { promiseChecks } from './checks/promises.js';
import { queueChecks } from './checks/queues.js';
import { replayChecks } from './checks/replays.js';
import { valueChecks } from './checks/values.js';
import { type Check, type ConformanceOptions, DEFAULT_SEED, type Harness } from './harness.js';

/**
 * The checks that a store must pass. Run each in a separate test, with any runner.
 *
 * @example
 * ```ts
 * import { storeConformance } from '@spillway/conformance';
 * import { memoryStore } from '@spillway/core';
 * import { ManualClock } from '@spillway/core/testing';
 * import { test } from 'vitest';
 *
 * const open = () => {
 *   const clock = new ManualClock();
 *   return { store: memoryStore({ clock }), setTimeUs: (us: number) => clock.setUs(us) };
 * };
 * for (const { name, run } of storeConformance({ open })) test(name, run);
 * ```
 */
export function storeConformance(harness: Harness, options: ConformanceOptions = {}): Check[] {
  const { runs = 100, seed = DEFAULT_SEED } = options;
  const settings = { runs, seed };
  return [
    ...replayChecks(harness, settings),
    ...promiseChecks(harness, settings),
    ...groupChecks(harness, settings),
    ...countChecks(harness),
    ...operationChecks(harness, settings),
    ...partialPutChecks(harness),
    ...clockChecks(harness, settings),
    ...leaseChecks(harness, settings),
    ...claimChecks(harness),
    ...claimGroupChecks(harness),
    ...valueChecks(harness),
    ...anchoredChecks(harness),
    ...calendarChecks(harness),
    ...penaltyChecks(harness),
    ...debtChecks(harness, settings),
    ...distinctChecks(harness),
    ...logChecks(harness, settings),
    ...queueChecks(harness),
    ...pauseChecks(harness),
    ...keyChecks(harness),
  ];
}
