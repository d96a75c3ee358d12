/**
 * What decisions cost in the units that Cloudflare bills, and that nothing of a key stays when its counts have expired.
 */

import { createHash } from 'node:crypto';
import { durableObjectStore } from '@spillway/cloudflare';
import { createLimiter, createLimiters, fixedWindow } from '@spillway/core';
import type { Miniflare } from 'miniflare';
import { delay } from 'spillway-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { objectsOf, runWorker } from './workerd.js';

interface Bill {
  readonly requests: number;
  readonly read: number;
  readonly written: number;
  readonly alarms: number;
  readonly woken: number;
  /** The names of the rows that are stored. */
  readonly rows: readonly string[];
  readonly alarm: number | null;
}

describe('an object', () => {
  let miniflare: Miniflare;
  beforeAll(async () => {
    miniflare = await runWorker('workers/billed.js', ['Billed']);
  });
  afterAll(() => miniflare.dispose());

  const nameOf = (key: string) =>
    createHash('sha256').update(`1{${key}}%-}`).digest('hex').slice(0, 32);
  const billOf = async (key: string): Promise<Bill> => {
    const url = new URL(`/BILLED/${nameOf(key)}`, await miniflare.ready);
    return (await fetch(url)).json() as Promise<Bill>;
  };
  /** What `work` added to the bill of a key. */
  const costOf = async (key: string, work: () => Promise<unknown>) => {
    const before = await billOf(key);
    await work();
    const after = await billOf(key);
    const { requests, read, written, alarms } = after;
    return [
      requests - before.requests,
      read - before.read,
      written - before.written,
      alarms - before.alarms,
    ];
  };
  const settings = async () => ({
    store: durableObjectStore(await objectsOf(miniflare, 'Billed')),
    storeTimeout: '10s' as const,
    denialCache: false,
  });

  it('costs one request, one row read and one written for a grant, and no writing for a refusal', async () => {
    const limiter = createLimiter({ name: 'login', limit: 4, window: '1h' }, await settings());
    const consume = () => limiter.consume('ada');
    // The first decision of a key sets the alarm, which costs as much as a row.
    expect(await costOf('ada', consume)).toEqual([1, 1, 2, 1]);
    expect(await costOf('ada', consume)).toEqual([1, 1, 1, 0]);
    expect(await costOf('ada', consume)).toEqual([1, 1, 1, 0]);
    expect(await costOf('ada', consume)).toEqual([1, 1, 1, 0]);
    expect(
      await costOf('ada', async () => {
        expect((await consume()).allowed).toBe(false);
      }),
    ).toEqual([1, 1, 0, 0]);
  });

  it('costs one request for three limits of one key, and a row for each', async () => {
    const algorithm = fixedWindow;
    const limiters = createLimiters(
      {
        hour: { limit: 10, window: '1h', algorithm },
        day: { limit: 100, window: '1d', algorithm },
        bucket: { limit: 10, window: '1m' },
      },
      await settings(),
    );
    const consume = () => limiters.consume({ hour: 'bob', day: 'bob', bucket: 'bob' });
    await consume();
    expect(await costOf('bob', consume)).toEqual([1, 3, 3, 0]);
  });

  it('keeps nothing of a key that was only refused or looked at', async () => {
    const limiter = createLimiter({ name: 'login', limit: 4, window: '1h' }, await settings());
    expect((await limiter.consume('eve', { cost: 5 })).reason).toBe('never');
    expect((await limiter.peek('eve')).remaining).toBe(4);
    expect(await billOf('eve')).toMatchObject({ written: 0, alarm: null, rows: [] });
  });

  it('is woken once when all is over, and then takes no room', async () => {
    const second = createLimiter(
      { name: 'second', limit: 100, window: '1s', algorithm: fixedWindow },
      await settings(),
    );
    const hour = createLimiter(
      { name: 'hour', limit: 100, window: '2s', algorithm: fixedWindow },
      await settings(),
    );
    for (let i = 0; i < 20; i += 1) await Promise.all([hour.consume('tim'), second.consume('tim')]);
    expect(await billOf('tim')).toMatchObject({ alarms: 1, woken: 0, rows: { length: 2 } });
    while ((await billOf('tim')).rows.length > 0) await delay(50);
    const { alarm, alarms, woken } = await billOf('tim');
    expect(alarm).toBeNull();
    expect(woken).toBe(alarms);
    expect(woken).toBeLessThan(4);
    // The key counts again, with a new alarm.
    expect((await hour.consume('tim')).remaining).toBe(99);
    expect((await billOf('tim')).rows).toHaveLength(1);
  });
});
