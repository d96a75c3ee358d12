/** How a shaper ends, and what it leaves behind. */

import { remoteStore } from '@spillway/core/store';
import { fakeTime } from 'spillway-testkit';
import { expect, it, vi } from 'vitest';
import { FarStore, pass, setUp, twoProcesses } from './set-up.js';

fakeTime();

it('refuses what waits, lets what runs end, and resolves then', async () => {
  const { shaper, starts } = setUp();
  let end = (): void => undefined;
  const running = shaper.schedule(
    'acme',
    () =>
      new Promise<string>((resolve) => {
        end = () => resolve('done');
      }),
  );
  starts.many(shaper, 3);
  await pass(0);
  let isClosed = false;
  const closing = shaper.close().then(() => {
    isClosed = true;
  });
  await pass(1_000);
  expect(starts.codes).toEqual(Array(3).fill('SPW_SHAPER_CLOSED'));
  expect(isClosed).toBe(false);
  end();
  expect(await running).toBe('done');
  await closing;
  expect(shaper.queueLength('acme')).toBe(0);
});

it('gives back the slots of what waits, so that other processes do not wait for them', async () => {
  const { here, there, starts } = twoProcesses();
  starts.many(here, 6);
  await pass(0);
  expect(await there.waitOf('acme')).toBe(1500);
  await here.close();
  expect(await there.waitOf('acme')).toBe(250);
});

it('gives back also the slots behind those of other processes', async () => {
  const { here, there, starts } = twoProcesses();
  starts.many(here, 3);
  await pass(0);
  starts.many(there, 1);
  await pass(0);
  starts.many(here, 3);
  await pass(0);
  expect(await there.waitOf('acme')).toBe(1750);
  await here.close();
  expect(await there.waitOf('acme')).toBe(1000);
});

it('refuses what comes after it', async () => {
  const { shaper, starts } = setUp();
  await shaper.close();
  await shaper.close();
  starts.many(shaper, 1);
  await pass(0);
  expect(starts.codes).toEqual(['SPW_SHAPER_CLOSED']);
  const refused = { allowed: false, key: 'acme', reason: 'closed', wouldWaitMs: Infinity };
  expect(await shaper.reserve('acme')).toEqual(refused);
  expect(await shaper.reserveFirst(['acme'])).toEqual(refused);
});

it('refuses a job whose slot is on its way, and gives the slot back', async () => {
  const { stores, here, there, starts } = twoProcesses();
  stores[0].delayMs = 10;
  starts.many(here, 1);
  const closing = here.close();
  await pass(100);
  await closing;
  expect(starts.codes).toEqual(['SPW_SHAPER_CLOSED']);
  expect(await there.waitOf('acme')).toBe(0);
});

it('resolves when the slot of a job that was on its way is given back', async () => {
  const { stores, here, there, starts } = twoProcesses();
  stores[0].delayMs = 10;
  starts.many(here, 3);
  const closing = here.close();
  let waitMs = -1;
  void closing.then(async () => {
    waitMs = await there.waitOf('acme');
  });
  await pass(200);
  expect(waitMs).toBe(0);
});

it('starts nothing any more, while it waits for the store', async () => {
  const store = remoteStore(new FarStore());
  const settings = { store, localShare: 1, storeTimeout: '5s', logger: false } as const;
  const { shaper, starts } = setUp({}, settings);
  starts.many(shaper, 2);
  await pass(10);
  store.delayMs = 1_000;
  void shaper.waitOf('acme');
  const closing = shaper.close();
  await pass(5_000);
  await closing;
  expect(starts.ms).toEqual([0]);
});

it('refuses a reservation that is on its way, and gives its slot back', async () => {
  const { stores, here, there } = twoProcesses();
  stores[0].delayMs = 10;
  const reserving = here.reserve('acme');
  const closing = here.close();
  await pass(100);
  await closing;
  expect(await reserving).toMatchObject({ allowed: false, reason: 'closed' });
  expect(await there.waitOf('acme')).toBe(0);
});

it('leaves no timer where nothing waits', async () => {
  const { shaper, starts } = setUp();
  const abort = new AbortController();
  starts.many(shaper, 2);
  starts.schedule(shaper, 'aborted', { signal: abort.signal });
  await pass(0);
  expect(vi.getTimerCount()).toBe(1);
  abort.abort();
  await pass(250);
  expect(starts.ms).toEqual([0, 250]);
  expect(vi.getTimerCount()).toBe(0);
});

it('leaves no timer for a slot that cannot be cancelled, because others have later ones', async () => {
  const { here, there, starts } = twoProcesses();
  starts.many(here, 2);
  await pass(0);
  starts.many(there, 1);
  await pass(0);
  await here.close();
  await there.close();
  expect(starts.codes).toEqual(['SPW_SHAPER_CLOSED', 'SPW_SHAPER_CLOSED']);
  expect(vi.getTimerCount()).toBe(0);
});
