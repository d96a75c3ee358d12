/** A shaper whose pace is changed by live settings, and keys that are blocked. */

import { type Logger, memoryControl } from '@spillway/core';
import { liveControl } from '@spillway/core/control';
import { remoteStore } from '@spillway/core/store';
import type { OnePaceOptions } from '@spillway/outgoing';
import { fakeTime, seeded } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { FarStore, pass, setUp, twoProcesses } from './set-up.js';

fakeTime();

const note = { by: 'ada', because: 'their limit has changed', for: '1h' } as const;

function controlled(options: Partial<OnePaceOptions> = {}, logger: Logger | false = false) {
  const control = memoryControl();
  return { control, ...setUp(options, { control, logger }) };
}

describe('a live limit', () => {
  it('is the pace of what comes, and what waits keeps its slots', async () => {
    const { control, shaper, starts } = controlled();
    starts.many(shaper, 3);
    control.set('calls', { limits: { limit: 10 } }, note);
    starts.many(shaper, 3);
    await pass(2_000);
    expect(starts.ms).toEqual([0, 250, 500, 750, 850, 950]);
  });

  it('may be slower, and over another window', async () => {
    const { control, shaper, starts } = controlled();
    starts.many(shaper, 2);
    control.set('calls', { limits: { limit: 2, window: '2s' } }, note);
    starts.many(shaper, 2);
    await pass(5_000);
    expect(starts.ms).toEqual([0, 250, 500, 1500]);
  });

  it('is what the shaper says of itself, until it ends', async () => {
    const { control, shaper, starts } = controlled({ burst: 3 });
    expect(shaper).toMatchObject({ limit: 4, windowMs: 1_000, burst: 3, periodMs: 250 });
    control.set('calls', { limits: { limit: 5, window: '2s' } }, { ...note, for: '10s' });
    expect(shaper).toMatchObject({ limit: 5, windowMs: 2_000, burst: 3, periodMs: 400 });
    await pass(10_001);
    expect(shaper).toMatchObject({ limit: 4, windowMs: 1_000, periodMs: 250 });
    starts.many(shaper, 5);
    await pass(2_000);
    const [first = 0] = starts.ms;
    expect(starts.ms.map((ms) => ms - first)).toEqual([0, 0, 0, 250, 500]);
  });

  it('is shared out when the store does not answer', async () => {
    const control = memoryControl();
    const store = remoteStore(new FarStore());
    store.down = true;
    const settings = { store, control, localShare: 1 / 2, logger: false } as const;
    const { shaper, starts } = setUp({}, settings);
    control.set('calls', { limits: { limit: 10 } }, note);
    starts.many(shaper, 3);
    await pass(2_000);
    expect(starts.ms).toEqual([0, 200, 400]);
  });

  it('leaves the burst as it is, and says so', async () => {
    const lines: string[] = [];
    const logger = { warn: (line: string) => void lines.push(line), info: () => undefined };
    const { control, shaper, starts } = controlled({ burst: 2 }, logger);
    control.set('calls', { limits: { limit: 10, burst: 5 } }, note);
    starts.many(shaper, 4);
    await pass(1_000);
    expect(starts.ms).toEqual([0, 0, 100, 200]);
    expect(lines).toEqual([expect.stringContaining('burst')]);
  });

  it.each([1, 2, 3, 4])(
    'keeps the queue of two processes, whatever comes (seed %i)',
    async (seed) => {
      const random = seeded(seed);
      const paces = [4, 10, 20, 7];
      const control = memoryControl();
      const { here, there, starts } = twoProcesses({ maxWait: '60s' }, { control });
      for (let i = 0; i < 30; i += 1) {
        const limit = paces[Math.floor(random.uniform() * paces.length)] as number;
        control.set('calls', { limits: { limit } }, note);
        starts.many(random.uniform() < 0.5 ? here : there, 3);
        await pass(Math.floor(random.uniform() * 150));
      }
      await pass(60_000);
      expect(starts.errors).toEqual([]);
      expect(starts.all).toHaveLength(90);
      // Each gap is the period of a pace that was in force: no slot is lost, and none is granted twice.
      const gaps = starts.ms.slice(1).map((ms, at) => ms - (starts.ms[at] as number));
      const periods = paces.map((limit) => 1_000 / limit);
      const odd = gaps.filter((gap) => !periods.some((period) => Math.abs(gap - period) <= 1.001));
      expect(odd).toEqual([]);
      expect(new Set(gaps.map(Math.round)).size).toBeGreaterThanOrEqual(3);
    },
  );
});

describe('a blocked key', () => {
  it('is refused, and others are not', async () => {
    const { control, shaper, starts } = controlled();
    control.block('calls', 'acme', note);
    starts.many(shaper, 1);
    starts.many(shaper, 1, { key: 'umbrella' });
    await pass(1_000);
    expect(starts.codes).toEqual(['SPW_SHAPER_BLOCKED']);
    expect(starts.all).toHaveLength(1);
    const wouldWaitMs = 3_600_000 - 1_000;
    const refused = { allowed: false, key: 'acme', reason: 'blocked', wouldWaitMs };
    expect(await shaper.reserve('acme')).toEqual(refused);
  });

  it('is passed over where there is another', async () => {
    const { control, shaper } = controlled();
    control.block('calls', 'acme', note);
    expect(await shaper.reserveFirst(['acme', 'umbrella'])).toMatchObject({ key: 'umbrella' });
    control.block('calls', 'umbrella', { ...note, for: '1m' });
    const refused = { allowed: false, key: 'umbrella', reason: 'blocked', wouldWaitMs: 60_000 };
    expect(await shaper.reserveFirst(['acme', 'umbrella'])).toEqual(refused);
  });

  it('lets start what waits already', async () => {
    const { control, shaper, starts } = controlled();
    starts.many(shaper, 2);
    await pass(0);
    control.block('calls', 'acme', note);
    await pass(1_000);
    expect(starts.ms).toEqual([0, 250]);
  });
});

it('modes, shares and allowed keys do not change a pace', async () => {
  const { control, shaper, starts } = controlled();
  control.set('calls', { mode: 'off', share: 0 }, note);
  control.allow('calls', 'acme', note);
  starts.many(shaper, 3);
  await pass(1_000);
  expect(starts.ms).toEqual([0, 250, 500]);
});

it('tells the control its name and its numbers', () => {
  const control = memoryControl();
  const told: unknown[] = [];
  control.register = (name, rule) => void told.push(name, rule?.limit);
  setUp({}, { control });
  expect(told).toEqual(['calls', 4]);
});

describe('a live factor and a pace of one key', () => {
  it('change the pace and not the burst', async () => {
    const { control, shaper, starts } = controlled({ burst: 2 });
    control.set('calls', { limits: { factor: 2 } }, note);
    expect(shaper).toMatchObject({ limit: 8, burst: 2, periodMs: 125 });
    starts.many(shaper, 4);
    await pass(1_000);
    expect(starts.ms).toEqual([0, 0, 125, 250]);
  });

  it('a key has the pace that was set for it, others that of the shaper', async () => {
    const { control, shaper, starts } = controlled();
    control.set('calls', { limits: { limit: 2 } }, note);
    control.limitKey('calls', 'acme', { limit: 10 }, note);
    starts.many(shaper, 3, { key: 'acme' });
    await pass(3_000);
    expect(starts.ms).toEqual([0, 100, 200]);
    starts.many(shaper, 2, { key: 'umbrella' });
    await pass(3_000);
    expect(starts.ms.slice(3)).toEqual([3_000, 3_500]);
    control.clearKey('calls', 'acme', note);
    starts.many(shaper, 2, { key: 'acme' });
    await pass(3_000);
    expect(starts.ms.slice(5)).toEqual([6_000, 6_500]);
    expect(await shaper.reserve('acme')).toMatchObject({ allowed: true });
  });

  it.each<unknown>([{ limit: 0 }, 'much', Number.NaN])(
    'that make no pace (%j) are told once, and it stays as declared',
    async (limits) => {
      const lines: string[] = [];
      const logger = { warn: (line: string) => void lines.push(line), info: () => undefined };
      const control = liveControl({
        settingsOf: () => undefined,
        overrideOf: () => undefined,
        limitsOf: () => limits as never,
      });
      const { shaper, starts } = setUp({}, { control, logger });
      starts.many(shaper, 3);
      await pass(1_000);
      expect(starts.ms).toEqual([0, 250, 500]);
      expect(lines).toHaveLength(1);
    },
  );
});
