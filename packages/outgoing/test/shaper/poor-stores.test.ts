/** Stores that are far away, lose their data, contradict themselves, or whose clock is set. */

import { type Answer, memoryStore, type Step, type Store } from '@spillway/core';
import { remoteStore, systemClock } from '@spillway/core/store';
import { createShaper, type Shaper } from '@spillway/outgoing';
import { fakeTime, seeded } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { FarStore, FOUR, pass, Starts, setUp } from './set-up.js';

fakeTime();

const quiet = { logger: false } as const;

/** The delays of the next reservations. */
async function delays(shaper: Shaper, count: number): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const reservation = await shaper.reserve('acme');
    if (reservation.allowed) all.push(reservation.delayMs);
  }
  return all;
}

describe('a store far away', () => {
  it.each([
    { limit: 20, answerMs: 60 },
    { limit: 20, answerMs: 120 },
    { limit: 20, answerMs: 600 },
    { limit: 4, answerMs: 300 },
  ])('keeps $limit per second though an answer takes $answerMs ms', async ({ limit, answerMs }) => {
    const store = remoteStore(new FarStore());
    store.delayMs = answerMs / 2;
    const far = { store, localShare: 1, storeTimeout: '1s', ...quiet } as const;
    const { shaper, starts } = setUp({ limit }, far);
    starts.many(shaper, 20);
    await pass(answerMs + (20 * 1_000) / limit);
    expect(starts.all).toHaveLength(20);
    expect(starts.leastGap).toBeGreaterThanOrEqual(1_000 / limit);
    expect(store.count('take')).toBe(20);
  });

  it('whose answers take now more and now less time keeps the pace, with few slots lost', async () => {
    const random = seeded(5);
    const store = remoteStore(new FarStore());
    const far = { store, localShare: 1, storeTimeout: '1s', ...quiet } as const;
    const { shaper, starts } = setUp({ limit: 20 }, far);
    for (let i = 0; i < 100; i += 1) {
      store.delayMs = 5 + Math.floor(random.uniform() * 120);
      starts.schedule(shaper, String(i));
      await pass(40);
    }
    await pass(3_000);
    expect(starts.all).toHaveLength(100);
    expect(store.count('take')).toBeLessThan(130);
    expect(store.count('look')).toBeLessThan(200);
    // One more than the pace allows, where an answer came late.
    for (const from of starts.ms) {
      expect(starts.ms.filter((ms) => ms >= from && ms < from + 1_000).length).toBeLessThan(24);
    }
  });

  it('that answered slowly once is not looked at again and again for that', async () => {
    const store = remoteStore(new FarStore());
    const far = { store, localShare: 1, storeTimeout: '1s', ...quiet } as const;
    const { shaper, starts } = setUp({}, far);
    store.delayMs = 150;
    starts.many(shaper, 8);
    await pass(400);
    store.delayMs = 1;
    await pass(3_000);
    expect(starts.all).toHaveLength(8);
    expect(store.count('look')).toBeLessThanOrEqual(8);
  });
});

describe('the clock of a store', () => {
  function setBackBy(us: number) {
    let aheadUs = 0;
    const clock = { nowUs: () => systemClock.nowUs() + aheadUs };
    const store = remoteStore(new FarStore(memoryStore({ clock })));
    const set = () => {
      aheadUs = -us;
    };
    return { store, set };
  }

  it.each([60_000, 600])(
    'that went back by less than 1 s, %s ms ago, keeps the pace',
    async (ms) => {
      const { store, set } = setBackBy(900_000);
      const { shaper } = setUp({}, { store, localShare: 1, ...quiet });
      await shaper.reserve('acme');
      await pass(2_000);
      set();
      await pass(ms);
      expect(await delays(shaper, 4)).toEqual([0, 250, 500, 750]);
    },
  );
});

describe('a store that lost its data', () => {
  it('does not double the pace of a process that waits for slots of before', async () => {
    const store = remoteStore(new FarStore());
    const { shaper, starts } = setUp({ limit: 10 }, { store, localShare: 1, ...quiet });
    starts.many(shaper, 50);
    await pass(100);
    store.memory = memoryStore({ clock: systemClock });
    starts.many(shaper, 50);
    await pass(12_000);
    expect(starts.ms).toEqual(Array.from({ length: 100 }, (_, i) => i * 100));
  });

  it('does not double that of a fleet, nor lets it wait longer than it had to', async () => {
    const stores = Array.from({ length: 8 }, () => remoteStore(new FarStore()));
    const lose = () => {
      const memory = memoryStore({ clock: systemClock });
      for (const store of stores) store.memory = memory;
    };
    lose();
    const fleet = stores.map(
      (store) => setUp({ limit: 20 }, { store, localShare: 1 / 8, ...quiet }).shaper,
    );
    const starts = new Starts();
    const rounds = async (count: number) => {
      for (let i = 0; i < count; i += 1) {
        for (const shaper of fleet) starts.many(shaper, 1);
        await pass(0);
      }
    };
    await rounds(20);
    await pass(1_000);
    lose();
    await rounds(20);
    await pass(30_000);
    expect(starts.errors).toEqual([]);
    expect(starts.all).toHaveLength(320);
    const { ms } = starts;
    for (const from of ms) {
      expect(ms.filter((at) => at >= from && at < from + 1_000).length).toBeLessThanOrEqual(29);
    }
    expect(ms.filter((at) => at < 8_000).length).toBeLessThanOrEqual(169);
    expect(Math.max(...ms)).toBeLessThan(17_000);
  });

  it('refuses what would wait longer than maxWait behind that, and keeps no slot for it', async () => {
    const store = remoteStore(new FarStore());
    const options = { limit: 10, maxWait: '5s' } as const;
    const { shaper, starts } = setUp(options, { store, localShare: 1, ...quiet });
    starts.many(shaper, 50);
    await pass(100);
    store.memory = memoryStore({ clock: systemClock });
    starts.many(shaper, 5);
    await pass(0);
    expect(starts.codes).toEqual(new Array(3).fill('SPW_SHAPER_WAIT'));
    await pass(20_000);
    expect(starts.all).toHaveLength(52);
  });

  it('is as any other once the slots of before are over', async () => {
    const store = remoteStore(new FarStore());
    const { shaper, starts } = setUp({ limit: 10 }, { store, localShare: 1, ...quiet });
    starts.many(shaper, 10);
    await pass(100);
    store.memory = memoryStore({ clock: systemClock });
    starts.many(shaper, 1);
    await pass(3_000);
    expect(starts.all).toHaveLength(11);
    starts.many(shaper, 1);
    await pass(0);
    expect(starts.all).toHaveLength(12);
  });
});

describe('with a shard that does not answer, and deny', () => {
  it('reserveFirst takes the key of another, from the first call on', async () => {
    const store = remoteStore(
      new (class extends FarStore {
        domainOf({ key }: Step): string {
          return key;
        }
        override async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
          if (steps.some(({ key }) => key === 'dead')) return new Promise(() => undefined);
          return super.apply(steps);
        }
      })(),
    );
    const { shaper } = setUp({}, { store, onStoreError: 'deny', ...quiet });
    for (let i = 0; i < 8; i += 1) {
      const asked = shaper.reserveFirst(['dead', 'acme']);
      await pass(100);
      expect(await asked).toMatchObject({ allowed: true, key: 'acme' });
    }
  });
});

describe('a store that grants slots inside its own pause', () => {
  it('is not asked without a rest', async () => {
    let asked = 0;
    const apply = async (steps: readonly Step[]): Promise<readonly Answer[]> => {
      asked += 1;
      if (asked > 200) throw new Error('enough');
      const nowUs = systemClock.nowUs();
      const numbers = { nowUs, tatUs: nowUs, tatNum: 0, pausedUntilUs: nowUs + 1_000_000_000 };
      return steps.map(() => ({ allowed: true, ...numbers }));
    };
    const store: Store = remoteStore({ sync: false, apply });
    const starts = new Starts();
    starts.many(createShaper(FOUR, { store, localShare: 1, ...quiet }), 1);
    await pass(1_000);
    expect(asked).toBeLessThan(30);
    expect(starts.all).toEqual([]);
  });
});
