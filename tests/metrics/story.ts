/** A story with everything that can be measured: each outcome, faults, a store that fails, permits, load. */

import {
  type Control,
  concurrencyLimit,
  createGuard,
  fleetShedder,
  type LimitRequest,
  memoryStore,
  meter,
  type Observer,
  rateLimit,
  type Signal,
  SpillwayError,
  type Store,
  workerShedder,
} from '@spillway/core';
import type { Gauges } from '@spillway/core/adapter';
import { liveControl } from '@spillway/core/control';
import { remoteStore } from '@spillway/core/store';
import { expect } from 'vitest';

export interface Watcher extends Observer {
  watch(what: Gauges): void;
}

/** A key that must be found in no metric. */
export const SECRET_KEY = 'key-of-ada';

export function request(path = '/', method = 'GET'): LimitRequest {
  const header = (name: string) => (name === 'x-api-key' ? SECRET_KEY : undefined);
  return { method, path, clientIp: '203.0.113.7', header, raw: undefined };
}

/** A store in memory that answers later, and can be away. */
export class FlakyStore implements Store {
  readonly sync = false;
  away = false;
  private readonly memory = memoryStore();

  async apply(steps: Parameters<Store['apply']>[0]) {
    if (this.away) throw new SpillwayError('SPW_STORE_UNAVAILABLE', 'away');
    return this.memory.apply(steps);
  }
}

const apiKey = ({ header }: LimitRequest) => header('x-api-key');
const options = { logger: false, breaker: { failures: 2, probeEvery: '1m' } } as const;

/**
 * Sends five requests to a guard of four limiters, two to a guard with one permit, one to a guard whose key fails, and
 * five to a guard with a meter. Then the store of two guards is away for three requests to each, and three callers
 * flood a store in memory. Ends with one permit held and a load of 0.5.
 */
export async function play(observers: readonly Watcher[]): Promise<void> {
  const signal: Signal = { name: 'pool', read: () => ({ value: 0.5, ageMs: 0 }) };
  const silent: Signal = { name: 'silent', read: () => undefined };
  const workers = workerShedder({ name: 'workers', signal, brake: false });
  const guard = createGuard(
    [
      workers,
      rateLimit({ name: 'per-key', limit: 4, window: '1h', key: apiKey }),
      rateLimit({ name: 'trial', limit: 1, window: '1h', mode: 'shadow' }),
      rateLimit({ name: 'old', limit: 1, window: '1h', mode: 'off' }),
    ],
    { observers },
  );
  for (let i = 0; i < 5; i += 1) await guard.admit(request('/', i === 0 ? 'POST' : 'GET'));
  const permits = createGuard(concurrencyLimit({ name: 'at-once', limit: 1 }), { observers });
  for (let i = 0; i < 2; i += 1) await permits.admit(request());
  const broken = () => {
    throw new Error('no key');
  };
  const faulty = rateLimit({ name: 'faulty', limit: 9, window: '1h', key: broken });
  const control = liveControl({
    settingsOf() {},
    overrideOf() {},
    settingsLost: true,
  }) as unknown as Control;
  await createGuard(faulty, { observers, control }).admit(request());
  await playSpending(observers);
  await playOutage(observers);
  await playFlood(observers);
  for (const observer of observers) {
    observer.watch({
      guards: [guard, permits],
      shedders: [workers],
      signals: [signal, silent],
      shapers: [{ name: 'partner', waiting: 2, running: 1 }],
    });
  }
}

/**
 * Five requests of 10 reserved units: settled below the reservation, above it, and far above the limit; cut; and never
 * settled.
 */
async function playSpending(observers: readonly Watcher[]): Promise<void> {
  const rows = meter({ reserve: () => 10 });
  const cost = rows.cost((units) => units);
  const limit = rateLimit({ name: 'spent', limit: 100, window: '1d', key: apiKey, cost });
  const guard = createGuard(limit, { observers });
  const all = [];
  for (let i = 0; i < 5; i += 1) all.push(await guard.admit(request()));
  for (const [i, units] of [4, 13, 1_000].entries()) {
    rows.of(all[i] as object).settle(units);
    all[i]?.release({ status: 200 });
  }
  all[3]?.release({ aborted: true });
  all[4]?.release({ status: 200 });
}

/** Three callers of a store with room for one. */
async function playFlood(observers: readonly Watcher[]): Promise<void> {
  const store = memoryStore({ maxEntries: 1 });
  const flood = rateLimit({ name: 'flood', limit: 9, window: '1h' });
  const guard = createGuard(flood, { store, observers });
  for (const clientIp of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) {
    await guard.admit({ ...request(), clientIp });
  }
  expect(store.overflowed).toBe(2);
}

async function playOutage(observers: readonly Watcher[]): Promise<void> {
  const store = remoteStore(new FlakyStore());
  const states: string[] = [];
  const all = [{ onBreaker: ({ state }: { state: string }) => states.push(state) }, ...observers];
  const open = rateLimit({ name: 'open', limit: 1000, window: '1h' });
  const fleet = fleetShedder({ name: 'fleet', capacity: 1000, reserve: 0.2 });
  const passing = createGuard(open, { ...options, store, observers: all });
  const denying = createGuard(fleet, { ...options, store, observers, onStoreError: 'deny' });
  await passing.admit(request());
  store.away = true;
  for (let i = 0; i < 3; i += 1) {
    expect(await passing.admit(request())).toMatchObject({ allowed: true });
    expect(await denying.admit(request())).toMatchObject({ status: 503 });
  }
  for (const observer of observers) observer.watch({ guards: [denying] });
  expect(states).toEqual(['open']);
}
