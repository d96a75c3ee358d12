/** How many jobs of a key run at once: in one process, in several, and when a process or the store is lost. */

import { type MemoryStore, memoryControl, memoryStore } from '@spillway/core';
import { type LeasesAnswer, makeLeasesRule, remoteStore, systemClock } from '@spillway/core/store';
import { createShaper, type Shaper, type ShaperSettings } from '@spillway/outgoing';
import { fakeTime, seeded } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { fleetOf, quiet, Runs, sleep } from './runs.js';
import { FarStore, pass } from './set-up.js';

fakeTime();

describe('maxConcurrent in one process', () => {
  it('runs as many at once, per key, and the next when one has ended', async () => {
    const shaper = createShaper({ maxConcurrent: 2 }, quiet);
    const runs = new Runs();
    runs.runMany(shaper, 5);
    runs.run(shaper, 'other key', 100, {}, 'umbrella');
    await pass(1_000);
    expect(runs.all.map(({ name, ms }) => `${name} ${ms}`)).toEqual([
      ...['0 0', 'other key 0', '1 0', '2 100', '3 100', '4 200'],
    ]);
    expect(shaper).toMatchObject({ name: '2-at-once', maxConcurrent: 2 });
  });

  it('keeps a pace beside it', async () => {
    const shaper = createShaper({ limit: 10, window: '1s', maxConcurrent: 2 }, quiet);
    const runs = new Runs();
    runs.runMany(shaper, 6, { ms: 250 });
    await pass(2_000);
    expect(runs.ms).toEqual([0, 100, 250, 350, 500, 600]);
  });

  it('charges nothing while no permit is free', async () => {
    const shaper = createShaper({ limit: 1, window: '1s', maxConcurrent: 1 }, quiet);
    const runs = new Runs();
    runs.runMany(shaper, 2, { ms: 5_000 });
    await pass(7_000);
    runs.run(shaper, 'third', 0);
    await pass(5_000);
    expect(runs.ms).toEqual([0, 5_000, 10_000]);
  });

  it('starts by priority, then in the order in which jobs came, whatever they cost', async () => {
    const options = { limit: 100, window: '1s', burst: 3, maxConcurrent: 1 } as const;
    const shaper = createShaper(options, quiet);
    const runs = new Runs();
    runs.run(shaper, 'first', 100);
    await pass(0);
    runs.run(shaper, 'usual', 100);
    runs.run(shaper, 'usual, costs more', 100, { cost: 3 });
    runs.run(shaper, 'high', 100, { priority: 1 });
    runs.run(shaper, 'high, costs more', 100, { priority: 1, cost: 2 });
    runs.run(shaper, 'low', 100, { priority: -1 });
    await pass(1_000);
    expect(runs.names).toEqual([
      ...['first', 'high', 'high, costs more', 'usual', 'usual, costs more', 'low'],
    ]);
    expect(runs.ms).toEqual([0, 100, 200, 300, 400, 500]);
  });

  it('settles what is aborted at once, but counts it until its work has ended', async () => {
    const shaper = createShaper({ maxConcurrent: 1 }, quiet);
    const runs = new Runs();
    const [running, waiting] = [new AbortController(), new AbortController()];
    runs.run(shaper, 'running', 300, { signal: running.signal });
    runs.run(shaper, 'waiting', 300, { signal: waiting.signal });
    runs.run(shaper, 'next', 100);
    await pass(100);
    running.abort('no');
    waiting.abort('no');
    await pass(0);
    expect(runs.errors.map(({ error }) => error)).toEqual(['no', 'no']);
    await pass(1_000);
    expect(runs.all).toEqual([
      { name: 'running', ms: 0 },
      { name: 'next', ms: 300 },
    ]);
  });

  it('rejects what has waited for maxWait', async () => {
    const shaper = createShaper({ maxConcurrent: 1, maxWait: '1s' }, quiet);
    const runs = new Runs();
    runs.runMany(shaper, 3, { ms: 800 });
    await pass(3_000);
    expect(runs.ms).toEqual([0, 800]);
    expect(runs.codes).toEqual(['SPW_SHAPER_WAIT']);
  });

  it('pauses although there is no pace', async () => {
    const shaper = createShaper({ maxConcurrent: 2 }, quiet);
    const runs = new Runs();
    await shaper.pause('acme', '1s');
    runs.runMany(shaper, 2);
    await pass(0);
    expect(await shaper.pauseOf('acme')).toBe(1_000);
    await pass(2_000);
    expect(runs.ms).toEqual([1_000, 1_001]);
  });

  it('cannot reserve, because nobody knows when the work ends', async () => {
    const shaper = createShaper({ maxConcurrent: 1 }, quiet);
    await expect(shaper.reserve('acme')).rejects.toThrow(/SPW_SHAPER_RESERVE/);
    await expect(shaper.reserveFirst(['acme'])).rejects.toThrow(/SPW_SHAPER_RESERVE/);
  });

  it('tells how many run', async () => {
    const shaper = createShaper({ maxConcurrent: 2 }, quiet);
    const runs = new Runs();
    runs.runMany(shaper, 3);
    await pass(0);
    expect(shaper.stats('acme')).toMatchObject({ waiting: 1, running: 2, runningInFleet: 2 });
    await pass(200);
    expect(shaper.stats('acme')).toMatchObject({ waiting: 0, running: 0, runningInFleet: 0 });
  });

  it('leaves nothing behind when it closes', async () => {
    const { shapers, stores, runs } = fleetOf(1, {});
    const [shaper] = shapers as [Shaper];
    runs.runMany(shaper, 5);
    await pass(50);
    const closing = shaper.close();
    await pass(200);
    await closing;
    expect(runs.all).toHaveLength(2);
    expect(runs.codes).toEqual(new Array(3).fill('SPW_SHAPER_CLOSED'));
    expect(stores[0]?.count('put')).toBe(2);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('can be set live', async () => {
    const control = memoryControl();
    const shaper = createShaper({ name: 'calls', maxConcurrent: 3 }, { ...quiet, control });
    const note = { by: 'ada', because: 'they are slow', for: '1h' } as const;
    control.set('calls/permits', { limits: { factor: 1 / 3 } }, note);
    expect(shaper.maxConcurrent).toBe(1);
    const runs = new Runs();
    runs.runMany(shaper, 3);
    await pass(500);
    expect(runs.ms).toEqual([0, 100, 200]);
  });

  it('starts no job on a permit beyond a lower live limit', async () => {
    const control = memoryControl();
    const shaper = createShaper({ name: 'calls', maxConcurrent: 4 }, { ...quiet, control });
    const runs = new Runs();
    runs.runMany(shaper, 8);
    await pass(50);
    control.set('calls/permits', { limits: { limit: 1 } }, { by: 'ada', because: 'slow' });
    await pass(500);
    expect(runs.ms).toEqual([0, 0, 0, 0, 100, 200, 300, 400]);
  });

  it('can be planned for a key', async () => {
    const plan = (key: string) => (key === 'big' ? { maxConcurrent: 3 } : undefined);
    const shaper = createShaper({ maxConcurrent: 1, plan }, quiet);
    const runs = new Runs();
    for (const key of ['big', 'small']) {
      for (let i = 0; i < 4; i += 1) runs.run(shaper, key, 100, {}, key);
    }
    await pass(50);
    expect(runs.names.filter((name) => name === 'big')).toHaveLength(3);
    expect(runs.names.filter((name) => name === 'small')).toHaveLength(1);
  });
});

describe('maxConcurrent in a fleet', () => {
  it('runs no more at once in all processes together, and uses its permits', async () => {
    const { shapers, runs } = fleetOf(4, { maxConcurrent: 3 });
    for (const shaper of shapers) runs.runMany(shaper, 30);
    await pass(5_000);
    expect(runs.most).toBe(3);
    expect(runs.all).toHaveLength(120);
    // 3 at a time would take 3.9 s.
    expect(Math.max(...runs.ms)).toBeLessThanOrEqual(4_300);
  });

  it('leaves a permit to others after ten more jobs', async () => {
    const { shapers, runs } = fleetOf(2, { maxConcurrent: 1, maxWait: '1h' });
    const [here, there] = shapers as [Shaper, Shaper];
    runs.runMany(here, 60, { name: 'here', ms: 20 });
    await pass(0);
    runs.runMany(there, 60, { name: 'there', ms: 20 });
    await pass(10_000);
    expect(runs.all).toHaveLength(120);
    expect(runs.most).toBe(1);
    const turns = runs.names.join(' ').match(/(here ?)+|(there ?)+/g) ?? [];
    const lengths = turns.map((turn) => turn.trim().split(' ').length);
    // The other process asks at most every 50 ms, so it may miss its first turns.
    expect(lengths.slice(0, 4).filter((length) => length % 11 !== 0)).toEqual([]);
    expect(runs.names.indexOf('there')).toBeLessThan(34);
  });

  it('starts no job on a permit that may have expired before this process learned of it', async () => {
    const options = { maxConcurrent: 1, maxWait: '1m', lease: '1s' };
    const { shapers, stores, memory, runs } = fleetOf(2, options, { storeTimeout: '10s' });
    const [stopped, other] = shapers as [Shaper, Shaper];
    const store = stores[0] as FarStore;
    // Like a process that is stopped between the store's answer and its receipt.
    store.memory = {
      async apply(steps) {
        const answers = await memory.apply(steps);
        store.memory = memory;
        await sleep(1_500);
        return answers;
      },
    };
    runs.run(stopped, 'stopped', 100);
    await pass(100);
    runs.run(other, 'other', 3_000);
    await pass(6_000);
    expect(runs.names).toEqual(['other', 'stopped']);
    expect(runs.most).toBe(1);
    expect(runs.errors).toEqual([]);
  });

  it('starts no further job on a permit that may have expired while the store was asked', async () => {
    const options = { maxConcurrent: 1, maxWait: '1m', lease: '1s' };
    const { shapers, stores, memory, runs } = fleetOf(2, options, { storeTimeout: '10s' });
    const [cut, other] = shapers as [Shaper, Shaper];
    const store = stores[0] as FarStore;
    runs.run(cut, 'first', 100);
    runs.run(cut, 'second', 100);
    await pass(50);
    // Calls that are sent from now on reach the store after the lease has expired.
    const reachesUs = systemClock.nowUs() + 1_500_000;
    store.memory = {
      async apply(steps) {
        await sleep(Math.max(0, (reachesUs - systemClock.nowUs()) / 1_000));
        return memory.apply(steps);
      },
    };
    runs.run(other, 'other', 3_000);
    await pass(8_000);
    expect(runs.names).toEqual(['first', 'other', 'second']);
    expect(runs.most).toBe(1);
    expect(runs.errors).toEqual([]);
  });

  it('lets a job that costs much start beside many small ones of another process', async () => {
    const pace = { limit: 100, window: '1s', burst: 20, maxConcurrent: 10 };
    const { shapers, runs } = fleetOf(2, { ...pace, maxQueue: 10_000 });
    const [many, one] = shapers as [Shaper, Shaper];
    runs.runMany(many, 1_000, { ms: 10, name: 'small' });
    await pass(500);
    runs.run(one, 'large', 10, { cost: 20 });
    await pass(1_000);
    expect(runs.names).toContain('large');
  });

  it('frees the permits of a process that is gone within one lease', async () => {
    const { shapers, stores, runs } = fleetOf(2, { maxConcurrent: 2, lease: '6s', maxWait: '1m' });
    const [gone, left] = shapers as [Shaper, Shaper];
    runs.runMany(gone, 2, { ms: 600_000, name: 'gone' });
    await pass(5_000);
    (stores[0] as FarStore).down = true;
    runs.runMany(left, 2, { name: 'left' });
    await pass(3_000);
    expect(runs.names).toEqual(['gone', 'gone']);
    await pass(3_600);
    expect(runs.names).toEqual(['gone', 'gone', 'left', 'left']);
  });

  it('renews the permits of long work, also in a store that has lost its data', async () => {
    const { shapers, stores, runs } = fleetOf(2, { maxConcurrent: 1, lease: '6s', maxWait: '2m' });
    const [here, there] = shapers as [Shaper, Shaper];
    runs.run(here, 'long', 30_000);
    await pass(10_000);
    const memory = memoryStore({ clock: systemClock });
    for (const store of stores) store.memory = memory;
    await pass(3_000);
    runs.run(there, 'next', 100);
    await pass(25_000);
    expect(runs.most).toBe(1);
    expect(runs.names).toEqual(['long', 'next']);
    expect(runs.ms[1]).toBeGreaterThanOrEqual(30_000);
    expect(runs.ms[1]).toBeLessThanOrEqual(30_500);
  });

  it('goes on when the clock of its process was set back while it waited for a permit', async () => {
    let setBackMs = 0;
    const clock = { nowUs: () => systemClock.nowUs() - setBackMs * 1_000 };
    const { shapers, runs } = fleetOf(2, { maxConcurrent: 1, maxWait: '10s' }, { clock });
    const [here, there] = shapers as [Shaper, Shaper];
    runs.run(here, 'here', 2_000);
    await pass(10);
    runs.runMany(there, 3, { name: 'there' });
    await pass(1_000);
    setBackMs = 3_600_000;
    await pass(3_000);
    expect(runs.names).toEqual(['here', 'there', 'there', 'there']);
    expect(runs.errors).toEqual([]);
  });

  it('keeps a share of the permits while the store fails', async () => {
    const { shapers, stores, runs } = fleetOf(
      1,
      { maxConcurrent: 4 },
      { localShare: 1 / 2, storeTimeout: '20ms' },
    );
    (stores[0] as FarStore).down = true;
    runs.runMany(shapers[0] as Shaper, 6);
    await pass(1_000);
    expect(runs.most).toBe(2);
    expect(runs.all).toHaveLength(6);
  });

  it.each([1, 4])(
    'counts the jobs of this process that the store does not know after an outage: %i at once',
    async (maxConcurrent) => {
      const { shapers, stores, runs } = fleetOf(1, { maxConcurrent });
      const [shaper] = shapers as [Shaper];
      (stores[0] as FarStore).down = true;
      runs.runMany(shaper, maxConcurrent, { ms: 3_000 });
      await pass(100);
      (stores[0] as FarStore).down = false;
      runs.runMany(shaper, 10, { ms: 1_000 });
      await pass(20_000);
      expect(runs.most).toBe(maxConcurrent);
      expect(runs.all).toHaveLength(maxConcurrent + 10);
    },
  );

  it('gives back a permit whose answer was lost', async () => {
    const { shapers, stores, runs } = fleetOf(
      2,
      { maxConcurrent: 1, maxWait: '1m', lease: '1m' },
      { onStoreError: 'deny', storeTimeout: '50ms' },
    );
    const [here, there] = shapers as [Shaper, Shaper];
    const store = stores[0] as FarStore;
    store.delayMs = 40; // the store decides in time, but its answer comes too late
    runs.run(here, 'here', 10);
    await pass(60);
    store.delayMs = 0;
    runs.run(there, 'there', 10);
    await pass(2_000);
    expect(runs.names.toSorted()).toEqual(['here', 'there']);
    expect(runs.most).toBe(1);
  });

  it('sends the releases again that the store missed after drain, as soon as it is back', async () => {
    const options = { maxConcurrent: 1, maxWait: '10m', lease: '5m' };
    const { shapers, stores, runs } = fleetOf(2, options);
    const [here, there] = shapers as [Shaper, Shaper];
    const store = stores[0] as FarStore;
    // Another shaper on the same store, whose calls show that it is back.
    const other = createShaper({ ...options, name: 'other' }, { ...quiet, localShare: 1, store });
    const keys = Array.from({ length: 20 }, (_, at) => `key ${at}`);
    for (const key of keys) runs.run(here, 'here', 500, {}, key);
    await pass(100);
    const drained = here.drain('0ms');
    await pass(10);
    expect(await drained).toEqual({ rejected: 0, running: 20 });
    store.down = true;
    const looks = setInterval(() => other.stats('acme'), 50);
    await pass(3_000);
    store.down = false;
    await pass(3_000);
    clearInterval(looks);
    for (const key of keys) runs.run(there, 'there', 10, {}, key);
    await pass(1_000);
    expect(runs.names.filter((name) => name === 'there')).toHaveLength(20);
  });

  it('releases the permit of a job that ends in a pause which the store does not know yet', async () => {
    const { shapers, stores, runs } = fleetOf(2, { maxConcurrent: 1, lease: '1s', maxWait: '1m' });
    const [here, there] = shapers as [Shaper, Shaper];
    const store = stores[0] as FarStore;
    store.down = true;
    runs.run(here, 'local', 300);
    await pass(100);
    here.pause('acme', '1s').catch(() => undefined);
    const waiting = new AbortController();
    runs.run(here, 'waiting', 10, { signal: waiting.signal });
    await pass(300); // the local job has ended, and no other may start
    waiting.abort('no');
    store.down = false;
    await pass(5_000);
    runs.run(there, 'there', 10);
    await pass(5_000);
    expect(runs.names).toEqual(['local', 'there']);
    await pass(60_000);
    const renewals = store.count('record');
    await pass(60_000);
    expect(store.count('record')).toBe(renewals);
  });
});

describe('a booking of the next permit', () => {
  /** How many permits and bookings the store knows. */
  function leases(memory: MemoryStore) {
    const answers = ['p', 'pn'].flatMap((code) => {
      const rule = { ...makeLeasesRule(1, 1_000_000), code };
      const look = { op: 'look', limiter: 'calls/permits', key: 'acme', rule, cost: 1 } as const;
      return memory.apply([{ ...look, binding: true }]) as readonly LeasesAnswer[];
    });
    return answers.map(({ used }) => used);
  }

  /** One process runs a job of 12 s, and another has booked the next permit. */
  async function booked(settings: ShaperSettings = {}, options: object = {}) {
    const fleet = fleetOf(3, { maxConcurrent: 1, maxWait: '1m', ...options }, settings);
    const [here, there] = fleet.shapers as [Shaper, Shaper];
    const abort = new AbortController();
    fleet.runs.run(here, 'here', 12_000);
    await pass(0);
    fleet.runs.run(there, 'there', 10, { signal: abort.signal });
    await pass(7_000);
    return { ...fleet, abort };
  }

  it('comes before processes that have waited less', async () => {
    const { shapers, runs } = await booked();
    await pass(3_000);
    for (let i = 0; i < 5; i += 1) runs.run(shapers[2] as Shaper, 'late', 10);
    await pass(4_000);
    expect(runs.names.slice(0, 3)).toEqual(['here', 'there', 'late']);
    expect(runs.most).toBe(1);
    // 8 s after the booking, the booked permit is asked for every 250 ms.
    expect(runs.ms[1]).toBeLessThanOrEqual(12_260);
  });

  it('of a long wait causes fewer calls than waiting without it', async () => {
    const { stores } = await booked();
    const { asked } = stores[1] as FarStore;
    const callsIn = async (ms: number): Promise<number> => {
      const before = asked.filter(({ op }) => op === 'take').length;
      await pass(ms);
      return (asked.filter(({ op }) => op === 'take').length - before) / 2;
    };
    expect(await callsIn(1_000)).toBeLessThanOrEqual(12);
    expect(await callsIn(3_000)).toBeLessThanOrEqual(21);
  });

  it('that is refused sends nothing more', async () => {
    let readings = 0;
    // Like a real clock, it goes on between two readings.
    const clock = { nowUs: () => systemClock.nowUs() + readings++ };
    const { shapers, stores, runs } = await booked({ clock });
    runs.run(shapers[2] as Shaper, 'late', 10);
    await pass(4_500);
    const { asked } = stores[2] as FarStore;
    expect(asked.some(({ rule }) => rule.code === 'pn')).toBe(true);
    expect(asked.filter(({ op }) => op === 'put')).toEqual([]);
  });

  /** Runs jobs of 200 ms, one after the other, and counts those that start and those that are rejected. */
  function loopIn(shaper: Shaper, runs: Runs) {
    const count = { started: 0, rejected: 0 };
    const work = async () => {
      count.started += 1;
      runs.now += 1;
      runs.most = Math.max(runs.most, runs.now);
      await sleep(200);
      runs.now -= 1;
    };
    const loop = async (): Promise<void> => {
      for (;;) {
        await shaper.schedule('acme', work).catch(() => {
          count.rejected += 1;
        });
      }
    };
    void loop();
    return count;
  }

  it('is made by a process that runs only one long job, for its other jobs', async () => {
    const { shapers, runs } = fleetOf(2, { maxConcurrent: 2 });
    runs.run(shapers[0] as Shaper, 'long', 600_000);
    await pass(10);
    const starts = shapers.map((shaper) => loopIn(shaper, runs));
    await pass(120_000);
    expect(starts.map(({ rejected }) => rejected)).toEqual([0, 0]);
    for (const { started } of starts) expect(started).toBeGreaterThan(15);
    expect(runs.most).toBe(2);
  });

  it('is made in time although the process has run a long job of another key', async () => {
    const random = seeded(1);
    const settings = { random: () => random.uniform() };
    const { shapers, stores, runs } = fleetOf(3, { maxConcurrent: 1 }, settings);
    for (const store of stores) store.delayMs = 1;
    runs.run(shapers[0] as Shaper, 'long', 60_000, {}, 'umbrella');
    await pass(60_100);
    const starts = shapers.map((shaper) => loopIn(shaper, runs));
    await pass(120_000);
    expect(starts.map(({ rejected }) => rejected)).toEqual([0, 0, 0]);
    expect(runs.most).toBe(1);
  });

  it('does not starve the others during the deployment of a higher limit', async () => {
    const random = seeded(1);
    const memory = memoryStore({ clock: systemClock });
    const runs = new Runs();
    const starts = [2, 2, 2, 3, 3, 3].map((maxConcurrent) => {
      const shaper = createShaper(
        { name: 'calls', maxConcurrent },
        {
          ...quiet,
          store: remoteStore(new FarStore(memory)),
          onStoreError: 'deny',
          random: () => random.uniform(),
        },
      );
      return [loopIn(shaper, runs), loopIn(shaper, runs)];
    });
    await pass(60_000);
    const higher = starts.slice(3).flat();
    expect(higher.map(({ rejected }) => rejected)).toEqual([0, 0, 0, 0, 0, 0]);
    for (const { started } of higher) expect(started).toBeGreaterThan(25);
    expect(runs.most).toBe(3);
  });

  it('is not counted as a running job', async () => {
    const { shapers, memory } = await booked();
    expect(leases(memory)).toEqual([2, 1]);
    for (const shaper of shapers) {
      expect(await shaper.stats('acme')).toMatchObject({ runningInFleet: 1 });
    }
  });

  it('makes no count negative when only its release is lost', async () => {
    const { shapers, stores, memory, runs } = await booked();
    (stores[1] as FarStore).memory = {
      apply(steps) {
        if (steps.some(({ op, rule }) => op === 'put' && rule.code === 'pn'))
          throw new Error('lost');
        return memory.apply(steps);
      },
    };
    await pass(5_300);
    expect(runs.names).toEqual(['here', 'there']);
    expect(leases(memory)).toEqual([0, 1]);
    expect(await shapers[2]?.stats('acme')).toMatchObject({ runningInFleet: 0 });
  });

  it('is followed by another one when it was given up after a pause of its process', async () => {
    let pausedMs = 0;
    const clock = { nowUs: () => systemClock.nowUs() + pausedMs * 1_000 };
    const memory = memoryStore({ clock: systemClock });
    const runs = new Runs();
    const shapers = Array.from({ length: 8 }, (_, at) => {
      const store = remoteStore(new FarStore(memory));
      const random = seeded(at);
      const options = { name: 'calls', maxConcurrent: 1, maxWait: '2h' } as const;
      const own = at === 1 ? clock : systemClock;
      const settings = { ...quiet, localShare: 1, random: () => random.uniform() };
      return createShaper(options, { ...settings, clock: own, store });
    });
    const [here, there] = shapers as [Shaper, Shaper];
    runs.run(here, 'here', 12_000);
    await pass(0);
    runs.runMany(there, 200, { name: 'there', ms: 200 });
    await pass(6_000);
    for (const shaper of shapers) {
      if (shaper !== there) runs.runMany(shaper, 200, { name: 'other', ms: 200 });
    }
    pausedMs = 15_000;
    await pass(54_000);
    const starts = runs.all.filter(({ name }) => name === 'there').map(({ ms }) => ms);
    const gaps = [...starts, 60_000].map((ms, i) => ms - (starts[i - 1] ?? 12_000));
    expect(Math.max(...gaps)).toBeLessThan(15_000);
    expect(runs.most).toBe(1);
  });

  it('is given up when no job waits any more', async () => {
    const { shapers, abort, runs, memory } = await booked();
    abort.abort('no');
    await pass(100);
    runs.run(shapers[2] as Shaper, 'late', 10);
    await pass(6_000);
    expect(runs.names).toEqual(['here', 'late']);
    expect(leases(memory)).toEqual([0, 0]);
  });

  it('is given up when its process closes', async () => {
    const { shapers, runs, memory } = await booked();
    await shapers[1]?.close();
    await pass(6_000);
    expect(runs.names).toEqual(['here']);
    expect(leases(memory)).toEqual([0, 0]);
  });

  it('ends within a second of its process, however long the lease of a permit is', async () => {
    const { shapers, stores, runs, memory } = await booked({}, { lease: '1h' });
    (stores[1] as FarStore).down = true;
    await pass(1_000);
    expect(leases(memory)).toEqual([1, 0]);
    await pass(5_000);
    runs.run(shapers[2] as Shaper, 'left', 10);
    await pass(100);
    expect(runs.names.filter((name) => name !== 'there')).toEqual(['here', 'left']);
  });

  it('leaves other free permits to processes that have none', async () => {
    const fleet = fleetOf(3, { maxConcurrent: 2, maxWait: '1m' }, { onStoreError: 'deny' });
    const { runs, stores, memory } = fleet;
    const [here, there, third] = fleet.shapers as [Shaper, Shaper, Shaper];
    runs.runMany(here, 2, { ms: 10_000, name: 'here' });
    await pass(0);
    runs.run(there, 'there', 10);
    await pass(4_000);
    runs.run(third, 'third', 10);
    await pass(5_900);
    expect(leases(memory)).toEqual([3, 1]);
    (stores[1] as FarStore).down = true; // so its booking is still there when both jobs end
    await pass(400);
    expect(leases(memory)).toEqual([1, 1]);
    expect(runs.names).toEqual(['here', 'here', 'third']);
  });

  it('ends when it was renewed so late that another process has booked', async () => {
    const { shapers, stores, runs, memory } = await booked({ storeTimeout: '10s' });
    runs.run(shapers[2] as Shaper, 'late', 10);
    await pass(2_000);
    const store = stores[1] as FarStore;
    store.delayMs = 2_500;
    await pass(13_000);
    expect(runs.names).toEqual(['here', 'late']);
    store.delayMs = 0;
    await pass(10_000);
    expect(runs.names).toEqual(['here', 'late', 'there']);
    expect(runs.most).toBe(1);
    expect(leases(memory)).toEqual([0, 0]);
  });

  it('ends in an outage, and leaves no permit behind', async () => {
    const { stores, runs, memory } = await booked({ storeTimeout: '20ms' });
    const store = stores[1] as FarStore;
    store.down = true;
    await pass(1_000);
    expect(runs.names).toEqual(['here', 'there']); // by the fallback
    store.down = false;
    await pass(20_000);
    expect(leases(memory)).toEqual([0, 0]);
  });

  it.each(Array.from({ length: 8 }, (_, seed) => seed))(
    'never adds a running job, whatever is lost: seed %i',
    async (seed) => {
      const random = seeded(seed);
      const any = (count: number) => Math.floor(random.uniform() * count);
      const maxConcurrent = 1 + (seed % 3);
      const { shapers, stores, runs, memory } = fleetOf(
        6,
        { maxConcurrent, maxWait: '1h', lease: '1m' },
        { random: () => random.uniform(), onStoreError: 'deny', storeTimeout: '100ms' },
      );
      for (const store of stores) store.delayMs = any(4);
      for (let step = 0; step < 60; step += 1) {
        const abort = new AbortController();
        const shaper = shapers[any(6)] as Shaper;
        runs.run(shaper, '', any(2_500), { signal: abort.signal });
        if (any(5) === 0) setTimeout(() => abort.abort(), any(8_000));
        const store = stores[any(6)] as FarStore;
        store.loses = any(3) === 0 ? 'take' : undefined;
        store.down = any(6) === 0 ? 'put' : false;
        await pass(any(600));
      }
      for (const store of stores) Object.assign(store, { loses: undefined, down: false });
      await pass(120_000);
      expect(runs.most).toBe(maxConcurrent);
      expect(stores.flatMap(({ asked }) => asked).some(({ rule }) => rule.code === 'pn')).toBe(
        true,
      );
      expect(shapers.map(({ waiting }) => waiting)).toEqual([0, 0, 0, 0, 0, 0]);
      expect(leases(memory)).toEqual([0, 0]);
    },
  );
});

describe('whatever comes in whatever order', () => {
  const PERMITS = 3;
  const RATE = 40;

  it.each(Array.from({ length: 10 }, (_, seed) => seed))('seed %i', async (seed) => {
    const random = seeded(seed);
    const any = (count: number) => Math.floor(random.uniform() * count);
    const withPace = seed % 2 === 0;
    const pace = withPace ? { limit: RATE, window: '1s', burst: 3 } : {};
    const { shapers, stores, runs } = fleetOf(
      3,
      { maxConcurrent: PERMITS, maxWait: '5s', ...pace },
      { random: () => random.uniform() },
    );
    for (const store of stores) store.delayMs = any(4);
    const started = new Map<number, number>();
    const pauses: { readonly fromMs: number; readonly untilMs: number }[] = [];
    const costs: { readonly ms: number; readonly cost: number }[] = [];
    let settled = 0;
    let atOnce = 0;
    let most = 0;
    const count = 150;
    for (let job = 0; job < count; job += 1) {
      const abort = new AbortController();
      const cost = withPace ? 1 + any(3) : 1;
      const lasts = any(120);
      const work = async () => {
        started.set(job, (started.get(job) ?? 0) + 1);
        costs.push({ ms: runs.nowMs, cost });
        atOnce += 1;
        most = Math.max(most, atOnce);
        await sleep(lasts);
        atOnce -= 1;
        if (any(5) === 0) throw new Error('of the work');
      };
      const shaper = shapers[any(3)] as Shaper;
      const options = { cost, priority: any(3), signal: abort.signal };
      const end = () => {
        settled += 1;
      };
      shaper.schedule('acme', work, options).then(end, end);
      if (any(4) === 0) setTimeout(() => abort.abort(), any(800));
      if (any(40) === 0) {
        const ms = 100 + any(500);
        pauses.push({ fromMs: runs.nowMs, untilMs: runs.nowMs + ms });
        void shaper.pause('acme', ms);
      }
      await pass(any(80));
    }
    await pass(30_000);
    expect(settled).toBe(count);
    expect(most).toBe(PERMITS);
    expect([...started.values()].every((times) => times === 1)).toBe(true);
    expect(started.size).toBeGreaterThan(60);
    for (const { fromMs, untilMs } of pauses) {
      const inside = costs.filter(({ ms }) => ms > fromMs + 50 + 8 && ms < untilMs);
      expect(inside).toEqual([]);
    }
    if (withPace) {
      for (const [from, first] of costs.entries()) {
        let units = 0;
        for (const { ms, cost } of costs.slice(from)) {
          units += cost;
          expect(units).toBeLessThanOrEqual(3 + (RATE * (ms - first.ms + 5)) / 1_000 + 1e-6);
        }
      }
    }
    const [first] = shapers as [Shaper];
    for (const store of stores) store.delayMs = 0;
    expect(await first.stats('acme')).toMatchObject({ waiting: 0, runningInFleet: 0 });
    await Promise.all(shapers.map((shaper) => shaper.close()));
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the count of what runs', () => {
  it('shows a store that grants a permit to everybody', async () => {
    const { shapers, stores, runs } = fleetOf(2, { maxConcurrent: 2 });
    for (const store of stores) {
      const { memory } = store;
      store.memory = {
        apply: (steps) =>
          memory.apply(
            steps.map((step) => (step.op === 'take' && step.lease ? { ...step, cost: 0 } : step)),
          ),
      };
    }
    for (const shaper of shapers) runs.runMany(shaper, 10);
    await pass(2_000);
    expect(runs.most).toBeGreaterThan(2);
  });
});

describe('mistakes', () => {
  it.each([
    [{}, /SPW_LIMIT_INVALID/],
    [{ maxConcurrent: 0 }, /maxConcurrent must be an integer from 1/],
    [{ maxConcurrent: 1, lease: '10ms' }, /lease must be from 1s to 24h/],
    [{ maxConcurrent: 1, limit: 4 }, /SPW_WINDOW_INVALID/],
    [{ maxConcurrent: 1, name: 'n'.repeat(60) }, /SPW_NAME_INVALID/],
    [{ maxConcurrent: 1, plan: {} }, /plan must be a function/],
  ])('%j', (options, message) => {
    expect(() => createShaper(options as never)).toThrow(message);
  });
});
