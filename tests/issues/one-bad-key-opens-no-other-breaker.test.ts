/**
 * Breakers of parts, such as Durable Objects: a thousand keys that had failed one call each, ever, left no room for
 * more, and then one bad key opened the breaker that all other keys shared. Each outage of a key was logged.
 */

import {
  type Answer,
  type BreakerEvent,
  createGuard,
  createLimiter,
  memoryStore,
  rateLimit,
  type Step,
  type Store,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { seeded } from 'spillway-testkit';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A store in which each key is a part, as with Durable Objects. */
class Objects implements Store {
  readonly sync = false;
  readonly label = 'objects';
  readonly bad = new Set<string>();
  readonly asked = new Map<string, number>();
  private readonly memory;

  constructor(clock: ManualClock) {
    this.memory = memoryStore({ clock });
  }

  domainOf({ key }: Step): string {
    return key;
  }

  async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    const [{ key, limiter }] = steps as [Step];
    const id = limiter.startsWith('\u0001') ? `probe of ${key}` : key;
    this.asked.set(id, (this.asked.get(id) ?? 0) + 1);
    if (this.bad.has(key)) throw new Error('gone');
    return this.memory.apply(steps);
  }
}

function setUp() {
  const clock = new ManualClock();
  const store = remoteStore(new Objects(clock));
  const lines: string[] = [];
  const events: BreakerEvent[] = [];
  const limiter = createLimiter(
    { name: 'api', limit: 3, window: '1h' },
    { store, clock, denialCache: false, logger: { warn: (line) => void lines.push(line) } },
  );
  createGuard(rateLimit({ name: 'other', limit: 3, window: '1h' }), {
    store,
    logger: false,
    observers: [{ onBreaker: (event) => void events.push(event) }],
  });
  const outcomes = async (key: string, times: number) => {
    const all: string[] = [];
    for (let i = 0; i < times; i += 1) all.push((await limiter.consume(key)).outcome);
    return all;
  };
  const failOnce = async (keys: readonly string[]) => {
    for (const key of keys) {
      store.bad.add(key);
      await outcomes(key, 1);
      store.bad.delete(key);
    }
  };
  const pass = async (ms: number) => {
    for (let i = 0; i < ms; i += 50) {
      clock.advance(50);
      await vi.advanceTimersByTimeAsync(50);
    }
  };
  return { clock, store, lines, events, limiter, outcomes, failOnce, pass };
}

const keys = (count: number, name = 'k') => Array.from({ length: count }, (_, i) => `${name}${i}`);
const EXACT = ['allowed', 'allowed', 'allowed', 'denied', 'denied'];

describe.each([
  ['48 hours', '48h'],
  ['a moment', 0],
] as const)('a thousand keys that failed once, %s ago', (_, ago) => {
  it('do not let one bad key stop the counting of any other', async () => {
    const { clock, store, outcomes, failOnce } = setUp();
    await failOnce(keys(1_100));
    clock.advance(ago);
    store.bad.add('evil');
    await outcomes('evil', 50);
    for (const key of ['victim', 'k7', 'k1050']) {
      expect((await outcomes(key, 5)).filter((outcome) => outcome === 'error')).toEqual([]);
    }
    expect(await outcomes('other', 5)).toEqual(EXACT);
  });
});

it('a bad key has a breaker although a thousand keys failed long ago', async () => {
  const { clock, store, outcomes, failOnce } = setUp();
  await failOnce(keys(1_000));
  clock.advance('11s');
  store.bad.add('evil');
  await outcomes('evil', 50);
  expect(store.asked.get('evil')).toBe(5);
});

it('a bad key has a breaker although a thousand keys are down that nobody asks any more', async () => {
  const { clock, store, events, outcomes } = setUp();
  for (const key of [...keys(1_000), 'evil']) store.bad.add(key);
  for (const key of keys(1_000)) await outcomes(key, 5);
  clock.advance('11s');
  await outcomes('evil', 50);
  expect(store.asked.get('evil')).toBe(5);
  expect(events.filter(({ state }) => state === 'closed')).toHaveLength(1);
});

describe('a store of which every part fails', () => {
  /** A thousand parts have breakers of their own. */
  async function allDown() {
    const all = setUp();
    const { store, outcomes } = all;
    for (const key of [...keys(1_000), ...keys(1_100, 'new')]) store.bad.add(key);
    for (const key of keys(1_000)) await outcomes(key, 5);
    return all;
  }

  it('is not asked any more for new keys once a thousand more have failed in a row', async () => {
    const { store, outcomes, events } = await allDown();
    for (const key of keys(1_100, 'new')) await outcomes(key, 1);
    expect(keys(1_100, 'new').filter((key) => store.asked.has(key))).toHaveLength(1_000);
    expect(events.at(-1)).toMatchObject({ state: 'open', part: 'other parts' });
  });

  it('is asked again for the others when the key of one of them is answered, not the keys that failed', async () => {
    const { store, outcomes, pass } = await allDown();
    for (const key of keys(1_000, 'new')) await outcomes(key, 1);
    expect(await outcomes('victim', 1)).toEqual(['error']);
    await outcomes('new0', 3); // the callers of the bad keys go on
    await pass(150);
    expect(store.asked.get('probe of victim')).toBe(1);
    expect((await outcomes('victim', 3)).includes('error')).toBe(false);
  });

  it('is asked for the others as long as any key is answered', async () => {
    const { store, outcomes } = await allDown();
    for (const key of keys(1_100, 'new')) {
      await outcomes(key, 1);
      if (key.endsWith('00')) expect((await outcomes('healthy', 1))[0]).not.toBe('error');
    }
    expect(keys(1_100, 'new').every((key) => store.asked.has(key))).toBe(true);
  });
});

it('18,000 keys that fail and recover make at most 51 lines a minute', async () => {
  const { clock, store, lines, events, limiter, pass } = setUp();
  const perMinute: number[] = [];
  for (let round = 0; round < 18; round += 1) {
    const some = keys(1_000, `r${round}-`);
    for (const key of some) store.bad.add(key);
    for (const key of some) for (let i = 0; i < 5; i += 1) await limiter.consume(key);
    store.bad.clear();
    await pass(100);
    clock.advance('19.9s');
    await vi.advanceTimersByTimeAsync(19_900);
    if (round % 3 === 2) perMinute.push(lines.splice(0).length);
  }
  expect(events.filter(({ state }) => state === 'open')).toHaveLength(18_000);
  expect(events.filter(({ state }) => state === 'closed')).toHaveLength(18_000);
  expect(Math.max(...perMinute)).toBeLessThanOrEqual(51);
  expect(Math.min(...perMinute)).toBeGreaterThan(0);
});

it('no sequence of failures lets a key that is always answered be decided here', async () => {
  const { uniform } = seeded(25);
  const below = (end: number) => Math.floor(uniform() * end);
  const { store, outcomes, pass, events } = setUp();
  const healthy = keys(20, 'healthy');
  for (let i = 0; i < 5_000; i += 1) {
    const draw = below(1_000);
    const bad = `bad${below(2_000)}`;
    if (draw < 800) {
      store.bad.add(bad);
      await outcomes(bad, 1 + below(6));
    } else if (draw < 998) store.bad.delete(bad);
    else await pass(50 * below(40));
    const key = healthy[below(20)] as string;
    expect((await outcomes(key, 1))[0], `at ${i}`).not.toBe('error');
  }
  // More than there is room for were open, or had failed.
  expect(events.length).toBeGreaterThan(1_000);
}, 30_000);
