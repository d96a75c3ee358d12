/** A store and a control outlive shapers, and keep none that was closed. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { memoryControl, memoryStore } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { createShaper, pacedFetch, type Shaper } from '@spillway/outgoing';
import { delay } from 'spillway-testkit';
import { expect, it } from 'vitest';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

type Use = (shaper: Shaper) => unknown;

/** How many of 20 closed shapers are still in memory, or what their callbacks refer to. */
async function kept(options: object, use: Use, close = (shaper: Shaper) => shaper.close()) {
  const memory = memoryStore();
  const store = remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
  const control = memoryControl();
  const observers = [{ onBreaker: () => undefined }];
  // Not a WeakRef: Node.js may keep the object for which a WeakRef was just made or read.
  const freed = new FinalizationRegistry(() => {
    count -= 1;
  });
  let count = 0;
  const once = async (at: number) => {
    const data = { big: new Uint8Array(100_000) };
    const settings = { store, control, localShare: 1, logger: false, onFault: () => data } as const;
    const shaper = createShaper(
      { name: 'calls', limit: 1_000, window: '1s', ...options },
      // An observer that others have too is kept, with the first that had it.
      { ...settings, ...(at > 0 && { observers }) },
    );
    for (const one of [shaper, data]) {
      freed.register(one, undefined);
      count += 1;
    }
    await use(shaper);
    await close(shaper);
  };
  for (let at = 0; at < 20; at += 1) await once(at);
  for (let i = 0; i < 50 && count > 1; i += 1) {
    await delay(5);
    collect();
  }
  return count;
}

const SHAPERS: readonly (readonly [string, object])[] = [
  ['with a pace', {}],
  ['with maxConcurrent', { maxConcurrent: 2 }],
];

it.each(SHAPERS)('%s', async (_, options) => {
  expect(await kept(options, (shaper) => shaper.schedule('acme', () => undefined))).toBeLessThan(3);
});

it.each(SHAPERS)('%s, with a pause and a job that waits', async (_, options) => {
  const use = async (shaper: Shaper) => {
    await shaper.pause('acme', '1h', 'maintenance');
    void shaper.schedule('acme', () => undefined).catch(() => undefined);
    await shaper.stats('acme');
  };
  expect(await kept(options, use)).toBeLessThan(3);
});

it.each(SHAPERS)('%s, after a drain', async (_, options) => {
  const use = (shaper: Shaper) => shaper.schedule('acme', () => undefined);
  expect(await kept(options, use, (shaper) => shaper.drain('1h') as never)).toBeLessThan(3);
});

it('that paced a fetch', async () => {
  const use = (shaper: Shaper) =>
    pacedFetch(shaper, { fetch: async () => new Response(null) })('https://partner.example/');
  expect(await kept({}, use)).toBeLessThan(3);
});
