/** A store whose every key may fail by itself, as Durable Objects do: what one does is nothing to the others. */

import { createLimiter, memoryStore, type Step, type Store } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { seeded } from 'spillway-testkit';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { sharedState } from '../src/stores/shared-state.js';

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

function setUp(failures = 5) {
  const clock = new ManualClock();
  const memory = memoryStore({ clock });
  const lines: string[] = [];
  const world = {
    clock,
    lines,
    /** Whether a key fails now. */
    fails: (_key: string): boolean => false,
    asked: 0,
    /** Everything goes on: the clock, and timers. */
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= 1_000) {
        clock.advance(Math.min(left, 1_000));
        await vi.advanceTimersByTimeAsync(Math.min(left, 1_000));
      }
    },
  };
  const store: Store = {
    sync: false,
    label: 'objects',
    domainOf: ({ key }: Step) => key,
    async apply(steps) {
      world.asked += 1;
      if (steps.some(({ key }) => world.fails(key))) throw new Error('gone');
      return memory.apply(steps);
    },
  };
  sharedState(store, clock).breaker({ failures, probeUs: 100_000 });
  const limiter = createLimiter(
    { name: 'api', limit: 3, window: '1h' },
    {
      store,
      logger: { warn: (line) => lines.push(line) },
      denialCache: false,
      onStoreError: 'allow',
    },
  );
  /** How many of ten calls of a key pass: 3, unless nobody asks its object. */
  const passing = async (key: string) => {
    let passed = 0;
    for (let i = 0; i < 10; i += 1) if ((await limiter.consume(key)).allowed) passed += 1;
    return passed;
  };
  const consume = (key: string) => limiter.consume(key);
  return { ...world, world, limiter, consume, passing };
}

describe('a key whose object fails', () => {
  it.each([0, 999, 1_000, 5_000])(
    'is nothing to other keys after %i have failed once, long ago or just now',
    async (count) => {
      const { world, consume, passing, pass } = setUp();
      world.fails = () => true;
      for (let i = 0; i < count; i += 1) await consume(`old${i}`);
      for (const passed of [0, 48 * 3_600_000]) {
        world.clock.advance(passed);
        world.fails = (key) => key === 'evil';
        for (let i = 0; i < 50; i += 1) await consume('evil');
        expect(await passing(`victim${passed}`)).toBe(3);
      }
      await pass(1_000);
    },
  );

  it('is nothing to other keys when a thousand and more do not answer', async () => {
    const { world, consume, passing } = setUp();
    world.fails = (key) => key.startsWith('evil');
    for (let i = 0; i < 1_200; i += 1) {
      for (let call = 0; call < 6; call += 1) await consume(`evil${i}`);
      if (i % 10 === 0) expect(await passing(`victim${i}`)).toBe(3);
    }
  });

  it('is not waited for, however many fail and answer beside it', async () => {
    const { world, consume } = setUp();
    world.fails = (key) => key === 'evil';
    for (let i = 0; i < 900; i += 1) {
      await consume(`good${i}`);
      if (i % 100 === 0) await consume('evil');
    }
    const before = world.asked;
    for (let i = 0; i < 50; i += 1) await consume('evil');
    expect(world.asked).toBe(before);
  });

  it('begins to count anew after a minute without a failure', async () => {
    const { world, consume, pass } = setUp();
    world.fails = () => true;
    for (let i = 0; i < 4; i += 1) await consume('rare');
    await pass(61_000);
    const before = world.asked;
    for (let i = 0; i < 4; i += 1) await consume('rare');
    expect(world.asked - before).toBe(4);
    await consume('rare');
    await consume('rare');
    expect(world.asked - before).toBe(5); // now it is open
  });
});

describe('a store that does not answer at all', () => {
  it('is asked for a bounded number of keys, and decides again for all when it is back', async () => {
    const { world, consume, passing, pass } = setUp(1);
    world.fails = () => true;
    for (let i = 0; i < 3_000; i += 1) await consume(`k${i}`);
    expect(world.asked).toBeLessThanOrEqual(1_000 + 20);
    world.fails = (key) => key === 'k1010'; // one of those that were asked last
    await consume('any');
    await pass(20_000);
    await consume('any');
    await pass(1_000);
    expect(await passing('k2500')).toBe(3);
    await pass(60_000);
    for (let i = 0; i < 20; i += 1) await consume(`k${i}`);
    await pass(60_000);
    expect(await passing('k15')).toBe(2);
  });
});

it('a log tells of ten parts by name, and of all others together', async () => {
  const { world, consume, lines, pass } = setUp();
  let minutes = 0;
  for (let i = 0; i < 3_000; i += 1) {
    world.fails = () => true;
    for (let call = 0; call < 5; call += 1) await consume(`k${i}`);
    world.fails = () => false;
    await pass(150);
    minutes += 150 / 60_000;
  }
  expect(lines.length).toBeLessThanOrEqual(Math.ceil(minutes + 1) * (10 * 3 + 3));
  expect(lines.filter((line) => line.includes('other parts')).length).toBeGreaterThan(0);
  const count = lines.length;
  await pass(180_000);
  expect(lines.length - count).toBeLessThanOrEqual(33);
  // And when all is over, it is forgotten.
  expect(vi.getTimerCount()).toBe(0);
});

it('under random failures no key that answers is ever kept from its object', async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const random = seeded(seed).uniform;
    const { world, consume, passing } = setUp();
    const bad = new Set(Array.from({ length: Math.floor(random() * 2_000) }, (_, i) => `bad${i}`));
    world.fails = (key) => bad.has(key) && random() < 0.9;
    for (let i = 0; i < 3_000; i += 1) {
      await consume(`bad${Math.floor(random() * 2_000)}`);
      if (random() < 0.1) await consume(`good${Math.floor(random() * 1_000)}`);
      if (random() < 0.01) world.clock.advance(Math.round(random() * 30_000));
    }
    expect(await passing(`fresh${seed}`), `seed ${seed}`).toBe(3);
  }
});
