/** The end of a pause: the pace begins again there, and no slot is left empty. */

import { fakeTime, seeded } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { pass, setUp, twoProcesses } from './set-up.js';

fakeTime();

const PERIOD_MS = 250;
/** How late a start may be: for the answers of the store, and for timers of whole milliseconds. */
const LATE_MS = 10;

describe('after a pause', () => {
  it('what comes in it starts at its end, and then at the pace', async () => {
    const { shaper, starts } = setUp({ burst: 2 });
    await shaper.pause('acme', '1s');
    starts.many(shaper, 3);
    await pass(5_000);
    expect(starts.ms).toEqual([1000, 1250, 1500]);
  });

  it.each([1, 2, 3, 4, 5, 6])('whoever waits in two processes goes on (seed %i)', async (seed) => {
    const random = seeded(seed);
    const any = (least: number, most: number) =>
      least + Math.floor(random.uniform() * (most - least));
    const { stores, here, there, starts } = twoProcesses({ maxWait: '60s', burst: 1 + (seed % 3) });
    for (const store of stores) store.delayMs = seed % 3;
    const backlog = { here, there };
    for (const shaper of Object.values(backlog)) starts.many(shaper, 40);
    const ends: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      await pass(any(500, 2_000));
      const ms = any(200, 2_500);
      void (any(0, 2) === 0 ? here : there).pause('acme', ms);
      ends.push(Math.max(starts.nowMs + ms, ends.at(-1) ?? 0));
    }
    await pass(60_000);
    expect(starts.all).toHaveLength(80);
    const gaps = starts.ms.slice(1).map((ms, at) => ({ from: starts.ms[at] as number, to: ms }));
    const holes = gaps.filter(({ from, to }) => to - from > PERIOD_MS + LATE_MS);
    expect(holes.length).toBeGreaterThan(0);
    for (const { from, to } of holes) {
      const end = ends.findLast((ms) => ms > from && ms <= to + LATE_MS) ?? -Infinity;
      expect(to - end).toBeLessThanOrEqual(PERIOD_MS + LATE_MS);
    }
  });
});
