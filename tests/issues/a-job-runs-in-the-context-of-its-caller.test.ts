/** Work that a shaper starts runs in the async context of the call that scheduled it, whatever brings its slot. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { memoryStore, type Store } from '@spillway/core';
import { remoteStore, systemClock } from '@spillway/core/store';
import {
  createShaper,
  type OnePaceOptions,
  pacedFetch,
  type ShaperSettings,
} from '@spillway/outgoing';
import { fakeTime } from 'spillway-testkit';
import { expect, it, vi } from 'vitest';

fakeTime();

const users = new AsyncLocalStorage<string>();
const NAMES = Array.from({ length: 10 }, (_, at) => `u${at}`);

function shaperOf(options: Partial<OnePaceOptions> = {}, settings: ShaperSettings = {}) {
  return createShaper({ name: 'calls', limit: 4, window: '1s', ...options }, settings);
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** A store that answers 5 ms later, as one on another machine does. */
function farStore(): Store {
  const memory = memoryStore({ clock: systemClock });
  const apply: Store['apply'] = async (steps) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return memory.apply(steps);
  };
  return remoteStore({ sync: false, apply });
}

it.each([
  ['by the alarm, on a store in memory', {}],
  ['by the alarm, on a store that is far', { store: farStore(), localShare: 1 }],
])('%s', async (_, settings) => {
  const shaper = shaperOf({}, settings);
  const seen = NAMES.map((name) =>
    users.run(name, async () => {
      const before = await shaper.schedule('acme', async () => {
        const first = users.getStore();
        await undefined;
        return [first, users.getStore()];
      });
      return [...before, users.getStore()];
    }),
  );
  await pass(5_000);
  expect(await Promise.all(seen)).toEqual(NAMES.map((name) => [name, name, name]));
});

it('when the end of another job, an abort or a cancelled reservation brings the slot', async () => {
  const shaper = shaperOf({ burst: 2 });
  const abort = new AbortController();
  const seen: unknown[] = [];
  const job = (name: string, signal?: AbortSignal) =>
    users.run(name, () =>
      shaper.schedule('acme', () => seen.push([name, users.getStore()]), { signal }),
    );
  const reserved = await users.run('reserver', () => shaper.reserve('acme', { cost: 2 }));
  const aborted = job('ada', abort.signal).catch((reason: unknown) => reason);
  const rest = ['bob', 'cyd', 'dan'].map((name) => job(name));
  await pass(0);
  users.run('aborter', () => abort.abort('gone'));
  users.run('canceller', () => reserved.allowed && reserved.cancel());
  await pass(2_000);
  await Promise.all(rest);
  expect(await aborted).toBe('gone');
  expect(seen).toEqual(['bob', 'cyd', 'dan'].map((name) => [name, name]));
});

it('without a context where the caller had none', async () => {
  const shaper = shaperOf();
  const first = users.run('ada', () => shaper.schedule('acme', () => users.getStore()));
  const second = shaper.schedule('acme', () => users.getStore());
  await pass(250);
  expect(await Promise.all([first, second])).toEqual(['ada', undefined]);
});

it('pacedFetch sends what the context of its caller holds, also when it tries again', async () => {
  const tries = new Map<string, number>();
  const sent: unknown[] = [];
  const send = pacedFetch(shaperOf({ maxWait: '1m' }), {
    retries: 1,
    random: () => 0,
    fetch: async (input) => {
      const path = new URL(String(input)).pathname.slice(1);
      sent.push([path, users.getStore()]);
      const tried = (tries.get(path) ?? 0) + 1;
      tries.set(path, tried);
      const isRefused = path === 'u3' && tried === 1;
      return new Response('', { status: isRefused ? 429 : 200 });
    },
  });
  const calls = NAMES.map((name) => users.run(name, () => send(`https://partner.example/${name}`)));
  await pass(30_000);
  await Promise.all(calls);
  expect(sent).toHaveLength(NAMES.length + 1);
  for (const [path, user] of sent as [string, string][]) expect(user).toBe(path);
});

it('pacedFetch with keys of its own, while the host is paused', async () => {
  const sent: unknown[] = [];
  const shaper = shaperOf({ maxWait: '1m' });
  const send = pacedFetch(shaper, {
    key: (request) => new URL(request.url).searchParams.get('account') as string,
    fetch: async (input) => {
      sent.push([new URL(String(input)).pathname.slice(1), users.getStore()]);
      return new Response('');
    },
  });
  await shaper.pause('partner.example', '1s');
  const calls = NAMES.map((name, at) =>
    users.run(name, () => send(`https://partner.example/${name}?account=${at % 3}`)),
  );
  await pass(30_000);
  await Promise.all(calls);
  expect(sent).toHaveLength(NAMES.length);
  for (const [path, user] of sent as [string, string][]) expect(user).toBe(path);
});

it('starts no job that is aborted between its slot and its start, and counts its slot as used', async () => {
  const shaper = shaperOf();
  const abort = new AbortController();
  let runs = 0;
  const work = () => {
    runs += 1;
  };
  const aborted = shaper.schedule('acme', work, { signal: abort.signal });
  abort.abort('gone'); // the slot was there at once, and the work starts after this call
  await expect(aborted).rejects.toBe('gone');
  expect(runs).toBe(0);
  expect(await shaper.waitOf('acme')).toBe(250);
  await shaper.close();
});

it('waits, when it is closed, for a job that has its slot and has not begun', async () => {
  const shaper = shaperOf();
  const order: string[] = [];
  const job = shaper.schedule('acme', async () => {
    order.push('begun');
    await new Promise((resolve) => setTimeout(resolve, 100));
    order.push('ended');
  });
  const closing = shaper.close().then(() => order.push('closed'));
  await pass(100);
  await Promise.all([job, closing]);
  expect(order).toEqual(['begun', 'ended', 'closed']);
});
