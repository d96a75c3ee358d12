/** Calls with their own keys look for a pause of the host while they wait for their slot, so they keep its pace. */

import type { Fault } from '@spillway/core';
import { remoteStore, systemClock } from '@spillway/core/store';
import {
  createShaper,
  type PacedFetchOptions,
  pacedFetch,
  type ShaperSettings,
} from '@spillway/outgoing';
import { fakeTime } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { FarStore, pass } from '../shaper/set-up.js';

fakeTime();

const PERIOD_MS = 50;
/** A look at the host delays a call by at most a quarter of a period. */
const LEAST_GAP_MS = (3 / 4) * PERIOD_MS;
const URL_A = 'https://a.example/';

/** One process whose calls all have the key `ada`, and the times at which they reach the other side. */
function setUp(settings: ShaperSettings = {}, options: PacedFetchOptions = {}) {
  const store = remoteStore(new FarStore());
  const shaper = createShaper({ name: 'partner', limit: 1, window: PERIOD_MS, maxWait: '1m' }, {
    localShare: 1,
    random: () => 0,
    logger: false,
    ...settings,
    store,
  } as ShaperSettings);
  const beginUs = systemClock.nowUs();
  const atMs: number[] = [];
  const faults: Fault[] = [];
  const send = pacedFetch(shaper, {
    key: () => 'ada',
    fetch: async () => {
      atMs.push((systemClock.nowUs() - beginUs) / 1_000);
      return new Response(null);
    },
    onFault: (fault) => void faults.push(fault),
    ...options,
  });
  const gaps = () => atMs.slice(1).map((ms, at) => ms - (atMs[at] as number));
  return { store, shaper, send, atMs, gaps, faults };
}

describe('the look at the host', () => {
  it('makes no call late where the answer takes long', async () => {
    const { store, send, atMs } = setUp();
    store.delayMs = 20;
    const call = send(URL_A);
    await pass(40);
    await call;
    // No longer than the slot itself takes, because the host's pause is read at the same time.
    expect(atMs).toEqual([40]);
  });

  it('does for all calls to the host within 50 ms', async () => {
    const { store, send } = setUp({}, { key: ({ url }) => url });
    const calls = Array.from({ length: 20 }, (_, at) => send(`${URL_A}${at}`));
    await pass(PERIOD_MS);
    await Promise.all(calls);
    expect(store.asked.filter(({ op, key }) => op === 'look' && key === 'a.example')).toHaveLength(
      1,
    );
  });

  it('moves no call closer to the next by more than a quarter of a period', async () => {
    const { shaper, send, atMs, gaps } = setUp();
    const pauseOf = shaper.pauseOf.bind(shaper);
    let looks = 0;
    shaper.pauseOf = async (key) => {
      looks += 1;
      if (looks % 2 === 0) await new Promise((done) => setTimeout(done, 40));
      return pauseOf(key);
    };
    const calls = Array.from({ length: 20 }, () => send(URL_A));
    await pass(20 * PERIOD_MS);
    await Promise.all(calls);
    expect(atMs).toHaveLength(20);
    expect(looks).toBeGreaterThan(10);
    expect(Math.min(...gaps())).toBeGreaterThanOrEqual(LEAST_GAP_MS);
  });

  it.each<[string, ShaperSettings]>([
    ['with a share for each process', {}],
    ['where it then refuses', { onStoreError: 'deny', localShare: undefined }],
  ])('holds up no call for long while the store is frozen: %s', async (_, settings) => {
    const { store, send, gaps, faults } = setUp({ storeTimeout: '200ms', ...settings });
    const calls = Array.from({ length: 20 }, () => send(URL_A));
    await pass(2 * PERIOD_MS);
    store.delayMs = 1e9;
    await pass(1_000);
    store.delayMs = 0;
    await pass(3_000);
    await Promise.all(calls);
    // The slot whose answer came too late is used in addition to the first slot of the process's own pace.
    expect(gaps().filter((ms) => ms < LEAST_GAP_MS).length).toBeLessThanOrEqual(1);
    expect(faults).toEqual([]);
  });
});

describe('a pause of the host', () => {
  it('that another process began holds calls that wait', async () => {
    const { shaper, send, atMs } = setUp();
    const calls = Array.from({ length: 4 }, () => send(URL_A));
    await pass(PERIOD_MS);
    await shaper.pause('a.example', '1s');
    await pass(3_000);
    await Promise.all(calls);
    expect(atMs).toHaveLength(4);
    // Calls that start within 50 ms of the pause may not know of it.
    expect(atMs.filter((ms) => ms > 2 * PERIOD_MS && ms < 1_000)).toEqual([]);
  });
});

it('a pause of the host that a response caused holds calls while the store is down', async () => {
  const called: string[] = [];
  const fetch = async (input: unknown): Promise<Response> => {
    called.push(new URL(String(input)).pathname);
    const isFirst = called.length === 1;
    return new Response(null, isFirst ? { status: 503, headers: { 'retry-after': '3' } } : {});
  };
  const options = { random: () => 0, fetch: fetch as never };
  const { store, send } = setUp({ breaker: false }, options);
  store.down = true;
  const first = send(`${URL_A}first`);
  await pass(1_000);
  await first;
  const second = send(`${URL_A}second`);
  await pass(1_900);
  expect(called).toEqual(['/first']);
  await pass(1_000);
  await second;
  expect(called).toEqual(['/first', '/second']);
});

it('a hundred calls that wait with one signal make no warning', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on('warning', onWarning);
  const { send, shaper } = setUp();
  const { signal } = new AbortController();
  const calls = Array.from({ length: 100 }, () => send(URL_A, { signal }));
  await pass(PERIOD_MS);
  await shaper.close();
  await Promise.allSettled(calls);
  await new Promise((done) => process.nextTick(done));
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});
