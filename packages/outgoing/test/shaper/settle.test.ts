/** Jobs whose cost is corrected once it is known. */

import { memoryStore } from '@spillway/core';
import { remoteStore, systemClock } from '@spillway/core/store';
import { createShaper } from '@spillway/outgoing';
import { fakeTime } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { FarStore, pass } from './set-up.js';

fakeTime();

const TEN = { limit: 10, window: '1s', burst: 10 } as const;
const quiet = { logger: false, random: () => 0 } as const;

describe('settle', () => {
  it('gives back what was not used', async () => {
    const shaper = createShaper(TEN, quiet);
    await shaper.schedule('acme', (_, job) => job.settle(2), { cost: 10 });
    expect(await shaper.waitOf('acme')).toBe(0);
    expect(await shaper.reserve('acme', { cost: 8 })).toMatchObject({ delayMs: 0 });
    expect(await shaper.reserve('acme')).toMatchObject({ delayMs: 100 });
  });

  it('charges what was used in addition, also more than the burst', async () => {
    const shaper = createShaper(TEN, quiet);
    await shaper.schedule('acme', (_, job) => job.settle(25));
    expect(await shaper.waitOf('acme')).toBe(1_600);
  });

  it('delays later jobs by at most maxWait', async () => {
    const shaper = createShaper({ ...TEN, maxWait: '5s' }, quiet);
    await shaper.schedule('acme', (_, job) => job.settle(1_000_000));
    expect(await shaper.waitOf('acme')).toBe(5_100);
    await pass(100);
    expect(await shaper.waitOf('acme')).toBe(5_000);
  });

  it('moves only the pace that it names', async () => {
    const shaper = createShaper({ paces: { requests: TEN, tokens: TEN } }, quiet);
    await shaper.schedule('acme', (_, job) => job.settle({ tokens: 1 }), {
      cost: { requests: 8, tokens: 8 },
    });
    const cost = (requests: number, tokens: number) => ({ cost: { requests, tokens } });
    expect(await shaper.reserve('acme', cost(2, 9))).toMatchObject({ delayMs: 0 });
    expect(await shaper.reserve('acme', cost(1, 1))).toMatchObject({ delayMs: 100 });
  });

  it('counts once for each pace', async () => {
    const shaper = createShaper({ paces: { requests: TEN, tokens: TEN } }, quiet);
    const work = (_: unknown, job: { settle(units: object): void }) => {
      job.settle({ tokens: 9 });
      job.settle({ tokens: 20, requests: 5 });
      job.settle({ requests: 20 });
    };
    await shaper.schedule('acme', work);
    expect(await shaper.reserve('acme', { cost: { requests: 5 } })).toMatchObject({ delayMs: 0 });
    expect(await shaper.reserve('acme', { cost: { requests: 1 } })).toMatchObject({ delayMs: 100 });
  });

  it('gives nothing back once a later slot is taken, so nothing starts too early', async () => {
    const shaper = createShaper({ ...TEN, burst: 5 }, quiet);
    const starts: number[] = [];
    const now = () => systemClock.nowUs() / 1_000;
    const beginMs = now();
    const work = async (_: unknown, job: { settle(units: number): void }) => {
      starts.push(now() - beginMs);
      await pass(0);
      job.settle(1);
    };
    const jobs = [1, 2, 3].map(() => shaper.schedule('acme', work, { cost: 5 }));
    await pass(5_000);
    await Promise.all(jobs);
    expect(starts).toEqual([0, 500, 1_000]);
  });

  it('works after the job has ended, and over a store', async () => {
    const store = new FarStore(memoryStore({ clock: systemClock }));
    const settings = { ...quiet, store: remoteStore(store), localShare: 1 };
    const shaper = createShaper({ ...TEN, name: 'llm', maxConcurrent: 2 }, settings);
    const job = await shaper.schedule('acme', (_, own) => own, { cost: 10 });
    job.settle(0);
    await pass(0);
    const stats = await shaper.stats('acme');
    expect(stats.nextStartMs).toBeLessThanOrEqual(Date.now());
    const other = await shaper.schedule('acme', (_, own) => own);
    store.down = true;
    other.settle(40);
    other.settle(0);
    await pass(1_000);
    await shaper.close();
  });

  it.each([-1, 1.5, Number.NaN, 2e9, '3', { tokens: 1 }, null])('rejects %j', async (units) => {
    const shaper = createShaper(TEN, quiet);
    const settled = shaper.schedule('acme', (_, job) => job.settle(units as number));
    await expect(settled).rejects.toThrow(/SPW_COST_INVALID/);
  });

  it('rejects the name of no pace', async () => {
    const shaper = createShaper({ paces: { requests: TEN, tokens: TEN } }, quiet);
    const settled = shaper.schedule('acme', (_, job) => job.settle({ token: 1 } as never));
    await expect(settled).rejects.toThrow(/SPW_OPTION_UNKNOWN/);
  });
});
