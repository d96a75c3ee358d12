/** Random events in two processes: never more starts than the pace allows, none in a pause, none lost. */

import type { Shaper } from '@spillway/outgoing';
import { fakeTime, type Random, seeded } from 'spillway-testkit';
import { expect, it, vi } from 'vitest';
import { pass, Starts, twoProcesses } from './set-up.js';

fakeTime();

const RATE = 20;
const BURST = 3;
/** How long an answer takes at most. */
const ANSWER_MS = 3;
/** How late a start may be while the next is on time: by an answer, and by a timer of whole milliseconds. */
const LATE_MS = ANSWER_MS + 1;

interface Run {
  readonly starts: { readonly ms: number; readonly cost: number }[];
  readonly pauses: { readonly fromMs: number; readonly untilMs: number }[];
  settled: number;
  scheduled: number;
}

async function run(random: Random): Promise<Run> {
  const { stores, here, there } = twoProcesses({ limit: RATE, burst: BURST, maxWait: '3s' });
  for (const store of stores) store.delayMs = Math.floor(random.uniform() * (ANSWER_MS + 1));
  const time = new Starts();
  const told: Run = { starts: [], pauses: [], settled: 0, scheduled: 0 };
  const any = (count: number) => Math.floor(random.uniform() * count);
  const schedule = (shaper: Shaper) => {
    const cost = 1 + any(BURST);
    const abort = new AbortController();
    const work = () => told.starts.push({ ms: time.nowMs, cost });
    const settled = () => {
      told.settled += 1;
    };
    const options = { cost, priority: any(3), signal: abort.signal };
    shaper.schedule('acme', work, options).then(settled, settled);
    told.scheduled += 1;
    if (any(3) === 0) setTimeout(() => abort.abort(), any(1_500));
  };
  const reserve = async (shaper: Shaper) => {
    const reservation = await shaper.reserve('acme', { cost: 1 + any(BURST) });
    if (reservation.allowed) setTimeout(reservation.cancel, any(200));
  };
  for (let i = 0; i < 150; i += 1) {
    const shaper = any(2) === 0 ? here : there;
    const what = any(30);
    if (what === 0) {
      const ms = 100 + any(900);
      told.pauses.push({ fromMs: time.nowMs, untilMs: time.nowMs + ms });
      void shaper.pause('acme', ms);
    } else if (what < 4) void reserve(shaper);
    else schedule(shaper);
    await pass(any(120));
  }
  await pass(30_000);
  await Promise.all([here.close(), there.close()]);
  return told;
}

it.each(Array.from({ length: 12 }, (_, seed) => seed))('seed %i', async (seed) => {
  const { starts, pauses, settled, scheduled } = await run(seeded(seed));
  expect(settled).toBe(scheduled);
  expect(starts.length).toBeGreaterThan(50);
  for (const [from, first] of starts.entries()) {
    let units = 0;
    for (const { ms, cost } of starts.slice(from)) {
      units += cost;
      const most = BURST + (RATE * (ms - first.ms + LATE_MS)) / 1_000;
      expect(units).toBeLessThanOrEqual(most + 1e-6);
    }
  }
  for (const { fromMs, untilMs } of pauses) {
    const inside = starts.filter(({ ms }) => ms > fromMs + 50 + 8 && ms < untilMs);
    expect(inside).toEqual([]);
  }
  expect(vi.getTimerCount()).toBe(0);
});
