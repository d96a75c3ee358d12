/** What observers receive: one decision for each job that starts or is rejected, and for each reservation. */

import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type DecisionEvent,
  memoryControl,
  memoryStore,
  type Observer,
  SpillwayError,
} from '@spillway/core';
import { liveControl } from '@spillway/core/control';
import { remoteStore, systemClock } from '@spillway/core/store';
import { createShaper, type OnePaceOptions, type ShaperSettings } from '@spillway/outgoing';
import { fakeTime, seeded } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { FarStore, FOUR, pass, setUp } from './set-up.js';

fakeTime();

const note = { by: 'ada', because: 'they owe us', for: '1h' } as const;

interface Told extends DecisionEvent {
  readonly key: string | undefined;
}

function observed(options: Partial<OnePaceOptions> = {}, settings: ShaperSettings = {}) {
  const told: Told[] = [];
  const observer: Observer = {
    onDecision: (event, key) => void told.push({ ...event, key }),
  };
  return { told, ...setUp(options, { observers: [observer], ...settings }) };
}

describe('observers of a shaper', () => {
  it('are told of a job when it starts', async () => {
    const { shaper, starts, told } = observed({ burst: 2 });
    starts.schedule(shaper, 'first', { cost: 2 });
    starts.schedule(shaper, 'second');
    await pass(0);
    expect(told).toEqual([
      {
        limiter: 'calls',
        key: 'acme',
        allowed: true,
        outcome: 'allowed',
        reason: null,
        mode: 'enforce',
        cost: 2,
        used: NaN,
        remaining: NaN,
        retryAfterMs: 0,
        resetMs: NaN,
        policy: { name: 'calls', unit: 'requests', limit: 4, windowMs: 1_000, burst: 2 },
      },
    ]);
    await pass(250);
    expect(told.map(({ cost }) => cost)).toEqual([2, 1]);
  });

  it('are told how long each job waited, in the context in which it was scheduled', async () => {
    const context = new AsyncLocalStorage<string>();
    const waits: unknown[] = [];
    const observer: Observer = {
      onWait: (event) => {
        waits.push({ ...event, in: context.getStore() });
        throw new Error('of the observer');
      },
    };
    const faults: string[] = [];
    const { shaper, starts } = setUp(
      { maxWait: '300ms' },
      { observers: [observer], onFault: ({ source }) => faults.push(source) },
    );
    const abort = new AbortController();
    context.run('first', () => starts.schedule(shaper, 'first'));
    context.run('second', () => starts.schedule(shaper, 'second'));
    context.run('third', () => starts.schedule(shaper, 'third'));
    await pass(250);
    context.run('fourth', () => starts.schedule(shaper, 'fourth', { signal: abort.signal }));
    await pass(100);
    abort.abort();
    await pass(1_000);
    expect(starts.names).toEqual(['first', 'second']);
    const limiter = 'calls';
    expect(waits).toEqual([
      { limiter, waitMs: 0, outcome: 'started', in: 'first' },
      { limiter, waitMs: 0, outcome: 'rejected', in: 'third' },
      { limiter, waitMs: 250, outcome: 'started', in: 'second' },
      { limiter, waitMs: 100, outcome: 'aborted', in: 'fourth' },
    ]);
    expect(faults).toEqual(new Array(4).fill('observer'));
  });

  it('are told of reservations, and of each key that reserveFirst asks', async () => {
    const { shaper, told } = observed({ maxWait: '0ms' });
    await shaper.reserve('acme');
    await shaper.reserveFirst(['acme', 'umbrella']);
    expect(
      told.map(({ key, outcome, reason, retryAfterMs }) => [key, outcome, reason, retryAfterMs]),
    ).toEqual([
      ['acme', 'allowed', null, 0],
      ['acme', 'denied', 'rate', 250],
      ['umbrella', 'allowed', null, 0],
    ]);
  });

  it('learn why a job was refused, and when it would be accepted', async () => {
    const control = memoryControl();
    const { shaper, starts, told } = observed({ maxWait: '500ms', maxQueue: 4 }, { control });
    // They start at 0, 250 and 500 ms; the fourth would wait 750 ms.
    starts.many(shaper, 4);
    await pass(0);
    expect(told.slice(1)).toMatchObject([{ outcome: 'denied', reason: 'rate', retryAfterMs: 250 }]);
    await pass(500);
    await control.block('calls', 'acme', note);
    starts.schedule(shaper, 'blocked');
    await pass(0);
    expect(told.at(-1)).toMatchObject({ reason: 'blocked', retryAfterMs: 3_600_000 });
    expect(told).toHaveLength(5);
  });

  it('learn that the queue of the process is full', async () => {
    const { shaper, starts, told } = observed({ maxQueue: 1 });
    starts.many(shaper, 3);
    await pass(0);
    expect(starts.codes).toEqual(['SPW_SHAPER_FULL']);
    expect(told.map(({ reason }) => reason)).toEqual([null, 'capacity']);
    expect(told[1]?.retryAfterMs).toBeNaN();
  });

  it('learn that a job which was accepted could not start', async () => {
    const { shaper, starts, told } = observed({ maxWait: '1s' });
    starts.many(shaper, 2);
    await shaper.pause('acme', '10s');
    await pass(2_000);
    expect(starts.codes).toEqual(['SPW_SHAPER_WAIT']);
    expect(told.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['allowed', null],
      ['denied', 'rate'],
    ]);
  });

  it.each([
    ['local', { outcome: 'error', allowed: true, reason: null }],
    ['deny', { outcome: 'error', allowed: false, reason: 'store-error' }],
  ] as const)('learn that the store failed: %s', async (onStoreError, expected) => {
    const store = new FarStore();
    store.down = true;
    const settings = {
      store: remoteStore(store),
      localShare: 1,
      onStoreError,
      logger: false,
    } as const;
    const { shaper, starts, told } = observed({}, settings);
    starts.schedule(shaper, 'job');
    await pass(1_000);
    await shaper.reserve('umbrella');
    expect(told).toMatchObject([expected, expected]);
  });

  it('learn nothing of what is aborted, closed or looked at', async () => {
    const { shaper, starts, told } = observed();
    const abort = new AbortController();
    starts.schedule(shaper, 'first');
    starts.schedule(shaper, 'aborted', { signal: abort.signal });
    starts.schedule(shaper, 'closed');
    await pass(0);
    abort.abort();
    await shaper.waitOf('acme');
    await shaper.pauseOf('acme');
    await shaper.close();
    await shaper.reserve('acme');
    await pass(5_000);
    expect(told).toHaveLength(1);
  });

  it('are told by the numbers that are set live', async () => {
    const control = memoryControl();
    const { shaper, told } = observed({}, { control });
    await control.set('calls', { limits: { limit: 2 } }, note);
    await shaper.reserve('acme');
    expect(told[0]?.policy?.limit).toBe(2);
  });

  it('cost no second look at what is set live', async () => {
    let looks = 0;
    const control = liveControl({
      settingsOf: () => {
        looks += 1;
        return undefined;
      },
      overrideOf: (_, key) => (key === 'bad' ? { verdict: 'block', endsInMs: 1 } : undefined),
    });
    const { shaper, told } = observed({ maxWait: '0ms' }, { control });
    for (const key of ['acme', 'acme', 'bad']) await shaper.reserve(key);
    expect(told.map(({ reason }) => reason)).toEqual([null, 'rate', 'blocked']);
    expect(looks).toBe(3);
  });

  it('may throw, and may ask the shaper: each job starts once, at the pace', async () => {
    const faults: unknown[] = [];
    let asked = 1;
    const { shaper, starts } = setUp(
      { maxWait: '2s' },
      {
        onFault: ({ source }) => faults.push(source),
        onDecision: () => {
          asked += 1;
          if (asked <= 6) starts.schedule(shaper, 'more');
          throw new Error('of mine');
        },
      },
    );
    starts.schedule(shaper, 'first');
    await pass(5_000);
    expect(starts.ms).toEqual([0, 250, 500, 750, 1_000, 1_250]);
    expect(faults).toEqual(Array(6).fill('observer'));
  });

  it('are told of each job exactly once, whatever happens', async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { uniform } = seeded(seed);
      const control = memoryControl();
      const store = new FarStore(memoryStore({ clock: systemClock }));
      const { shaper, starts, told } = observed(
        { maxWait: '600ms', maxQueue: 5, burst: 2 },
        { store: remoteStore(store), localShare: 1, control, logger: false },
      );
      let asked = 0;
      for (let step = 0; step < 60; step += 1) {
        const chance = uniform();
        if (chance < 0.1) store.down = !store.down;
        else if (chance < 0.15) void shaper.pause('acme', '1s').catch(() => {});
        else if (chance < 0.2) await control.block('calls', 'umbrella', note);
        else {
          asked += 1;
          starts.schedule(shaper, String(step), {
            key: chance < 0.4 ? 'umbrella' : 'acme',
            cost: chance < 0.3 ? 2 : 1,
          });
        }
        await pass(Math.floor(uniform() * 200));
      }
      await pass(10_000);
      expect(told).toHaveLength(asked);
      expect(told.filter(({ allowed }) => allowed)).toHaveLength(starts.all.length);
      await shaper.close();
    }
  });

  it('must be observers', () => {
    for (const settings of [{ observers: [{}] }, { onDecision: 1 }, { onFault: 'log' }]) {
      expect(() => createShaper(FOUR, settings as ShaperSettings)).toThrow(SpillwayError);
    }
  });
});
