/** What an app passes to a shaper by mistake, or at an unusual moment. */

import { memoryStore } from '@spillway/core';
import { remoteStore, systemClock } from '@spillway/core/store';
import { createShaper } from '@spillway/outgoing';
import { fakeTime } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { FarStore, pass, Starts } from './set-up.js';

fakeTime();

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

describe('a plan that is invalid', () => {
  const throwing = {
    get limit(): number {
      throw new Error('of the getter');
    },
  };

  it.each([Symbol('limit'), Object.create(null), 10n, '10', Number.NaN, [10]])(
    'is a fault, and the declared numbers apply: %s',
    async (limit) => {
      const faults: string[] = [];
      const onFault = ({ source }: { source: string }) => faults.push(source);
      const plan = () => ({ limit: limit as number });
      const shaper = createShaper({ limit: 4, window: '1s', plan }, { onFault });
      const starts = new Starts();
      starts.many(shaper, 2);
      await pass(1_000);
      expect(starts.ms).toEqual([0, 250]);
      expect(new Set(faults)).toEqual(new Set(['plan']));
    },
  );

  it.each([() => throwing, () => ({ paces: 'none' }), () => Promise.reject(new Error('late'))])(
    'may be anything',
    async (any) => {
      const plan = any as () => never;
      const settings = { logger: false } as const;
      const shaper = createShaper(
        { paces: { calls: { limit: 4, window: '1s' } }, maxConcurrent: 1, plan },
        settings,
      );
      expect(await shaper.schedule('acme', () => 'sent')).toBe('sent');
    },
  );

  it('does not hide a valid one that looks the same', async () => {
    let limit: unknown = '10';
    const plan = () => ({ limit: limit as number });
    const shaper = createShaper({ limit: 4, window: '1s', plan }, { logger: false });
    const starts = new Starts();
    starts.many(shaper, 1);
    await pass(1_000);
    limit = 10;
    starts.many(shaper, 2);
    await pass(1_000);
    expect(starts.ms).toEqual([0, 1_000, 1_100]);
  });

  it('stops no job that waits for a permit', async () => {
    let maxConcurrent: unknown = 1;
    const plan = () => ({ maxConcurrent: maxConcurrent as number });
    const shaper = createShaper({ maxConcurrent: 2, plan }, { logger: false });
    let ended = 0;
    for (let i = 0; i < 3; i += 1) {
      void shaper.schedule('acme', () => sleep(100)).then(() => (ended += 1));
    }
    await pass(50);
    maxConcurrent = Symbol('many');
    await pass(500);
    expect(ended).toBe(3);
  });
});

it('costs of a pace named like a method default to 1', async () => {
  const pace = { limit: 4, window: '1s' };
  const shaper = createShaper({ paces: { constructor: pace, tokens: pace } });
  expect(await shaper.schedule('acme', () => 'sent', { cost: { tokens: 1 } as never })).toBe(
    'sent',
  );
});

describe('pauses with a note', () => {
  it('keep it, although a shorter pause has another one', async () => {
    const shaper = createShaper({ limit: 4, window: '1s' });
    await shaper.pause('acme', '1h', 'maintenance');
    await shaper.pause('acme', '1s', 'a 429');
    expect(shaper.stats('acme')).toMatchObject({ pausedBy: 'maintenance' });
    await shaper.pause('acme', '2h', 'a longer one');
    expect(shaper.stats('acme')).toMatchObject({ pausedBy: 'a longer one' });
  });

  it('do not begin if it is not a string', async () => {
    const shaper = createShaper({ limit: 4, window: '1s' });
    await expect(shaper.pause('acme', '1h', Symbol('by') as never)).rejects.toThrow(
      /by must be a string/,
    );
    expect(await shaper.pauseOf('acme')).toBe(0);
  });
});

it('may be closed and drained by several callers, while releases are pending', async () => {
  const store = new FarStore(memoryStore({ clock: systemClock }));
  store.delayMs = 20;
  const shaper = createShaper(
    { name: 'calls', maxConcurrent: 2 },
    { store: remoteStore(store), localShare: 1, storeTimeout: '1s', logger: false },
  );
  void shaper.schedule('acme', () => sleep(100));
  await pass(60);
  let ended = 0;
  const closing = [shaper.drain('1s'), shaper.close(), shaper.close(), shaper.onIdle()];
  for (const end of closing) void end.then(() => (ended += 1));
  await pass(1_000);
  expect(ended).toBe(4);
});
