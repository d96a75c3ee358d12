/** The state of each host, and of each paused key, does not retain the async context of a call. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Store } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { createShaper, pacedFetch } from '@spillway/outgoing';
import { expect, it } from 'vitest';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const contexts = new AsyncLocalStorage<object>();
const pace = { name: 'calls', limit: 1_000, window: '1s', maxWait: '1h' } as const;

/** How many of 100 contexts are still in memory when the calls in them have ended. */
async function kept(call: (at: number) => Promise<unknown>): Promise<number> {
  const alive: WeakRef<object>[] = [];
  for (let at = 0; at < 100; at += 1) {
    const context = { big: new Uint8Array(100_000) };
    alive.push(new WeakRef(context));
    await contexts.run(context, () => call(at));
  }
  let count = alive.length;
  for (let i = 0; i < 50 && count > 0; i += 1) {
    await turn();
    collect();
    count = alive.filter((ref) => ref.deref()).length;
  }
  return count;
}

it('of calls to many hosts', async () => {
  const shaper = createShaper(pace);
  const fetch = async () => new Response('hello');
  const send = pacedFetch(shaper, { key: () => 'all', fetch });
  await send('https://partner.example/'); // Node's own classes retain the context of their first use
  expect(await kept((at) => send(`https://partner-${at}.example/`))).toBeLessThan(5);
  await shaper.close();
});

it('of pauses in an outage', async () => {
  const store: Store = remoteStore({ sync: false, apply: () => Promise.reject(new Error('down')) });
  const shaper = createShaper(pace, { store, localShare: 1, logger: false });
  const pause = (at: number) => shaper.pause(`key${at}`, '1h').catch(() => undefined);
  expect(await kept(pause)).toBeLessThan(5);
  await shaper.close();
});
