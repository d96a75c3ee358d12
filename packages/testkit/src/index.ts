/** The test kit: code that the tests of several packages share. It is private and never published. */

import { join } from 'node:path';

export { fakeTime, stall } from './fake-time.js';
export { type Random, seeded } from './random.js';
export { request } from './request.js';
export { brokenStore, DeafStore, held, MuteStore, SlowStore } from './stores.js';

export const ROOT: string = join(import.meta.dirname, '..', '..', '..');

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const TICK_MS = 5;
const LONGEST_TICK_MS = 50;

/** How long `work` takes. Times in which this process stood still are not included, except for 50 ms of each. */
export async function runningMs(work: () => PromiseLike<unknown>): Promise<number> {
  let ms = 0;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    ms += Math.min(nowMs - lastMs, LONGEST_TICK_MS);
    lastMs = nowMs;
  }, TICK_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return ms;
}

/** Waits for a condition. A machine may stand still for seconds, so the time limit is for tests that fail. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  withinMs = 20_000,
  everyMs = 2,
): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not so within ${withinMs} ms: ${condition}`);
    await delay(everyMs);
  }
}
