/** Reservations that the store does not know, because it did not answer or because this process had given them up. */

import { remoteStore } from '@spillway/core/store';
import { createShaper } from '@spillway/outgoing';
import { fakeTime, stall } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { Queues } from '../../src/shaper/queues.js';
import { FarStore, FOUR, pass, Starts, setUp, twoProcesses } from './set-up.js';

fakeTime();

const quiet = { logger: false } as const;

describe('after reservations in an outage', () => {
  /** One process reserves while it cannot reach the store; then the store is back. */
  async function reservedInOutage(times: number, cancels: 'none' | 'each' | 'all after') {
    const { stores, here, there } = twoProcesses();
    stores[0].down = true;
    const cancel: (() => void)[] = [];
    for (let i = 0; i < times; i += 1) {
      const reservation = await here.reserve('acme');
      if (reservation.allowed) cancel.push(reservation.cancel);
      if (cancels === 'each') cancel.pop()?.();
      await pass(0);
    }
    if (cancels === 'all after') for (const one of cancel) one();
    await pass(0);
    stores[0].down = false;
    await pass(1_000); // the breaker asks again
    return { near: stores[0], here, there };
  }

  it('the next takes one slot of the store, and starts behind them', async () => {
    const { near, here, there } = await reservedInOutage(20, 'none');
    const before = near.count('take');
    // The reservations of the outage start at 0, 500 ... 9500 ms; 1 s has passed.
    expect(await here.reserve('acme')).toMatchObject({ allowed: true, delayMs: 8_750 });
    expect(await here.reserve('acme')).toMatchObject({ allowed: true, delayMs: 9_000 });
    expect(near.count('take') - before).toBe(2);
    expect(await there.waitOf('acme')).toBeLessThan(1_000);
  });

  it('jobs take one slot of the store each, and start behind them', async () => {
    const { near, here } = await reservedInOutage(4, 'none');
    const starts = new Starts();
    const before = near.count('take');
    starts.many(here, 4);
    await pass(3_000);
    expect(starts.ms).toEqual([750, 1000, 1250, 1500]);
    expect(near.count('take') - before).toBe(4);
  });

  it.each(['each', 'all after'] as const)(
    'those that were cancelled (%s) count for nothing',
    async (cancels) => {
      const { here, there } = await reservedInOutage(cancels === 'each' ? 1_000 : 50, cancels);
      expect(await here.reserve('acme')).toMatchObject({ allowed: true, delayMs: 0 });
      expect(await there.reserve('acme')).toMatchObject({ allowed: true, delayMs: 250 });
    },
  );

  it('one that would start later than maxWait is refused, and takes nothing', async () => {
    const { here, there } = await reservedInOutage(60, 'none');
    const answers = [];
    for (let i = 0; i < 10; i += 1) answers.push(await here.reserve('acme'));
    // The last reservation of the outage starts at 29.5 s; 1 s has passed.
    const delays = answers.map((answer) => answer.allowed && answer.delayMs);
    expect(delays.slice(0, 7)).toEqual([28_750, 29_000, 29_250, 29_500, 29_750, 30_000, false]);
    expect(answers[9]).toMatchObject({ reason: 'wait', wouldWaitMs: 30_250 });
    await expect(here.schedule('acme', () => 0)).rejects.toThrow(/SPW_SHAPER_WAIT/);
    await pass(0);
    expect(await there.waitOf('acme')).toBe(6 * 250);
  });

  it('their keys are forgotten once they are over', async () => {
    const store = remoteStore(new FarStore());
    store.down = true;
    const shaper = createShaper(FOUR, { store, localShare: 1, ...quiet });
    for (let i = 0; i < 1_000; i += 1) await shaper.reserve(`key ${i}`);
    const { queues } = shaper as unknown as { queues: Queues };
    expect(queues).toBeInstanceOf(Queues);
    expect(queues.size).toBe(1_000);
    await pass(1_000);
    expect(queues.size).toBe(0);
  });
});

describe('a slot that this process has left', () => {
  /** Cancels slots at 500 and 750 ms, of which the later one cannot be given back. */
  async function setUpLeft() {
    const { stores, here, there } = twoProcesses();
    await here.reserve('acme');
    await here.reserve('acme');
    const kept = [await here.reserve('acme'), await here.reserve('acme')];
    await there.reserve('acme');
    for (const one of kept) if (one.allowed) one.cancel();
    await pass(0);
    return { near: stores[0], here, there };
  }

  it('is reserved next, the earliest first', async () => {
    const { near, here } = await setUpLeft();
    const before = near.count('take');
    const delays: unknown[] = [];
    for (let i = 0; i < 3; i += 1) {
      const reservation = await here.reserve('acme');
      delays.push(reservation.allowed && reservation.delayMs);
    }
    expect(delays).toEqual([500, 750, 1250]);
    expect(near.count('take') - before).toBe(1);
  });

  it('is not used in a pause that another process has begun', async () => {
    const { here, there } = await setUpLeft();
    await there.pause('acme', '10s');
    expect(await here.reserve('acme')).toMatchObject({ allowed: true, delayMs: 10_000 });
  });

  it('is used though the store does not answer', async () => {
    const { near, here } = await setUpLeft();
    near.down = true;
    expect(await here.reserve('acme')).toMatchObject({ allowed: true, delayMs: 500 });
  });

  it('leaves jobs that wait theirs', async () => {
    const { here } = await setUpLeft();
    const starts = new Starts();
    starts.many(here, 1);
    expect(await here.reserve('acme')).toMatchObject({ allowed: true, delayMs: 750 });
    await pass(600);
    expect(starts.ms).toEqual([500]);
  });
});

describe('a slot that has passed', () => {
  /** Slots at 0 and 250 ms in this process and at 500 ms in another; the one at 250 ms is cancelled. */
  async function setUpPassed(passedMs: number) {
    const { here, there, starts } = twoProcesses();
    await here.reserve('acme');
    const left = await here.reserve('acme');
    await there.reserve('acme');
    if (left.allowed) left.cancel();
    await pass(0);
    stall(250 + passedMs); // no alarm comes
    return { here, starts };
  }

  it.each([0, 1, 49, 249])('by %i ms is only handed out if it has not', async (passedMs) => {
    const { here } = await setUpPassed(passedMs);
    const delayMs = passedMs === 0 ? 0 : 500 - passedMs;
    expect(await here.reserve('acme')).toMatchObject({ delayMs });
  });

  it('starts no job that comes then', async () => {
    const { here, starts } = await setUpPassed(20);
    starts.many(here, 1);
    await pass(1_000);
    expect(starts.ms).toEqual([750]);
  });

  it('is not given back: to cancel a reservation after its start does nothing', async () => {
    const { shaper, starts } = setUp();
    await shaper.reserve('acme');
    const second = await shaper.reserve('acme');
    await pass(260);
    if (second.allowed) second.cancel();
    await pass(0);
    expect(await shaper.reserve('acme')).toMatchObject({ delayMs: 240 });
    starts.many(shaper, 1);
    await pass(1_000);
    expect(starts.ms).toEqual([750]);
  });
});

it('a reservation of a shaper that is closed while it asks is refused', async () => {
  const store = remoteStore(new FarStore());
  const { shaper } = setUp({}, { store, localShare: 1, ...quiet });
  const asked = shaper.reserve('acme');
  await shaper.close();
  expect(await asked).toMatchObject({ allowed: false, reason: 'closed' });
});
