/** Several paces of one shaper: a job starts when all of them allow it, and each counts the job when it starts. */

import { memoryControl, memoryStore } from '@spillway/core';
import { remoteStore, systemClock } from '@spillway/core/store';
import {
  createShaper,
  type Reservation,
  type SeveralPacesOptions,
  type Shaper,
  type ShaperSettings,
} from '@spillway/outgoing';
import { fakeTime, seeded } from 'spillway-testkit';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { FarStore, pass, Starts } from './set-up.js';

fakeTime();

const quiet = { logger: false, random: () => 0 } as const;

type Names = 'requests' | 'tokens';

/** The limits of an LLM: 500 requests and 200,000 tokens a minute. */
const LLM: SeveralPacesOptions<Names> = {
  name: 'llm',
  maxWait: '10m',
  maxQueue: 100_000,
  paces: {
    requests: { limit: 500, window: '1m' },
    tokens: { limit: 200_000, window: '1m', burst: 10_000 },
  },
};

/** What the receiver sees. */
interface Received {
  readonly ms: number;
  readonly tokens: number;
}

class Receiver extends Starts {
  readonly received: Received[] = [];

  send(shaper: Shaper<Names>, tokens: number, options: object = {}): void {
    const work = () => this.received.push({ ms: this.nowMs, tokens });
    shaper
      .schedule('acme', work, { cost: { tokens }, ...options })
      .catch((error: unknown) => this.errors.push({ name: String(tokens), error }));
  }

  /** By how many units an interval exceeds what the pace alone would allow, at most. */
  excess(units: (one: Received) => number, perMs: number): number {
    let most = 0;
    for (const [from, { ms: fromMs }] of this.received.entries()) {
      let sum = 0;
      for (const one of this.received.slice(from)) {
        sum += units(one);
        most = Math.max(most, sum - (one.ms - fromMs) * perMs);
      }
    }
    return most;
  }
}

function fleetOf(count: number, settings: ShaperSettings = {}, options: object = {}) {
  const memory = memoryStore({ clock: systemClock });
  const stores = Array.from({ length: count }, () => remoteStore(new FarStore(memory)));
  const shapers = stores.map((store) =>
    createShaper({ ...LLM, ...options }, { localShare: 1, ...quiet, ...settings, store }),
  );
  return { stores, shapers };
}

describe('several paces', () => {
  it('start a job when the slower of them allows it', async () => {
    const shaper = createShaper(LLM, quiet);
    const receiver = new Receiver();
    for (const tokens of [10_000, 3_000, 1, 1, 3_000]) receiver.send(shaper, tokens);
    await pass(10_000);
    // The pace needs 900 ms for 3,000 tokens and 120 ms for a request.
    expect(receiver.received.map(({ ms }) => ms)).toEqual([0, 900, 1_020, 1_140, 1_801]);
  });

  it('let nine small jobs behind a large one start as requests may, and not all at once', async () => {
    const { shapers } = fleetOf(1);
    const [shaper] = shapers as [Shaper<Names>];
    const receiver = new Receiver();
    receiver.send(shaper, 10_000);
    receiver.send(shaper, 9_000);
    for (let i = 0; i < 9; i += 1) receiver.send(shaper, 1);
    await pass(10_000);
    const starts = receiver.received.map(({ ms }) => ms);
    expect(starts[1]).toBe(2_700);
    expect(starts.slice(2)).toEqual(Array.from({ length: 9 }, (_, i) => 2_700 + 120 * (i + 1)));
  });

  it('make one store call for each job', async () => {
    const { shapers, stores } = fleetOf(1);
    const apply = vi.spyOn(stores[0] as FarStore, 'apply');
    const receiver = new Receiver();
    for (let i = 0; i < 5; i += 1) receiver.send(shapers[0] as Shaper<Names>, 100);
    await pass(0);
    expect(apply).toHaveBeenCalledTimes(5);
    expect(stores[0]?.asked.map(({ limiter }) => limiter).slice(0, 2)).toEqual([
      'llm/requests',
      'llm/tokens',
    ]);
  });

  it('are paused together', async () => {
    const { shapers } = fleetOf(2);
    const [here, there] = shapers as [Shaper<Names>, Shaper<Names>];
    const receiver = new Receiver();
    await here.pause('acme', '5s');
    receiver.send(there, 1);
    receiver.send(there, 1);
    await pass(10_000);
    expect(receiver.received.map(({ ms }) => ms)).toEqual([5_000, 5_120]);
  });

  it('cancel a reservation in all of them', async () => {
    const shaper = createShaper(LLM, quiet);
    const wait = async (tokens: number) => {
      const reservation = await shaper.reserve('acme', { cost: { tokens } });
      return reservation as Reservation;
    };
    await wait(10_000);
    const first = await wait(5_000);
    expect(first.delayMs).toBe(1_500);
    first.cancel();
    await pass(0);
    const second = await wait(5_000);
    expect(second.delayMs).toBe(1_500);
    await wait(1);
    second.cancel(); // a later slot is already reserved
    await pass(0);
    expect((await wait(1)).delayMs).toBe(1_740);
  });

  it('have the numbers of a plan, and of live settings of each', async () => {
    const control = memoryControl();
    const plan = (key: string) =>
      key === 'acme' ? { paces: { requests: { limit: 60 } } } : undefined;
    const shaper = createShaper({ ...LLM, plan }, { ...quiet, control });
    const starts = async (key: string) => {
      const delays: number[] = [];
      for (let i = 0; i < 3; i += 1) {
        const reservation = (await shaper.reserve(key)) as Reservation;
        delays.push(reservation.delayMs);
      }
      return delays;
    };
    expect(await starts('acme')).toEqual([0, 1_000, 2_000]);
    expect(await starts('umbrella')).toEqual([0, 120, 240]);
    const note = { by: 'ada', because: 'they are slow', for: '1h' } as const;
    control.set('llm/requests', { limits: { factor: 1 / 2 } }, note);
    expect(await starts('other')).toEqual([0, 240, 480]);
    expect(await starts('acme')).toEqual([3_000, 5_000, 7_000]);
    expect(shaper).toMatchObject({ limit: 250, windowMs: 60_000, periodMs: 240 });
  });

  it('let reserveFirst try each key by its own burst', async () => {
    const acme = { limit: 4, window: '1s', burst: 9 } as const;
    const plan = (key: string) => (key === 'acme' ? acme : undefined);
    const shaper = createShaper({ limit: 4, window: '1s', burst: 2, plan }, quiet);
    expect(await shaper.reserveFirst(['ada', 'acme'], { cost: 5 })).toMatchObject({
      allowed: true,
      key: 'acme',
    });
    await expect(shaper.reserveFirst(['ada', 'bob'], { cost: 5 })).rejects.toThrow(
      'burst, which is 2',
    );
  });

  it('report the plan that fails, and use the declared numbers', async () => {
    const faults: unknown[] = [];
    const plan = (key: string) => {
      if (key === 'throws') throw new Error('no database');
      return key === 'wrong' ? { limit: 0 } : ('none' as never);
    };
    const onFault = ({ source }: { source: string }) => faults.push(source);
    const shaper = createShaper({ limit: 4, window: '1s', plan }, { ...quiet, onFault });
    for (const key of ['throws', 'wrong', 'text']) {
      await shaper.reserve(key);
      expect(await shaper.reserve(key)).toMatchObject({ delayMs: 250 });
    }
    expect(new Set(faults)).toEqual(new Set(['plan']));
  });

  it('keep their share while the store fails', async () => {
    const { shapers, stores } = fleetOf(1, { localShare: 1 / 2 });
    (stores[0] as FarStore).down = true;
    const receiver = new Receiver();
    for (const tokens of [10_000, 3_000, 1]) receiver.send(shapers[0] as Shaper<Names>, tokens);
    await pass(10_000);
    expect(receiver.received.map(({ ms }) => ms)).toEqual([0, 1_800, 2_040]);
  });

  it('have typed costs', () => {
    const one = createShaper({ limit: 4, window: '1s' }, quiet);
    expectTypeOf(one.schedule)
      .parameter(2)
      .extract<object>()
      .toHaveProperty('cost')
      .toEqualTypeOf<number | undefined>();
    const both = createShaper({ paces: { a: { limit: 1, window: '1s' } } }, quiet);
    expectTypeOf(both).toEqualTypeOf<Shaper<'a'>>();
    // @ts-expect-error: a pace that it does not have
    void both.schedule('acme', () => 1, { cost: { b: 1 } }).catch(() => undefined);
    // @ts-expect-error: paces and a limit
    expect(() => createShaper({ limit: 1, window: '1s', paces: {} })).toThrow(/paces must be/);
  });

  it.each([
    [{ cost: 3 }, /cost must be the units of each pace.*SPW_COST_INVALID/],
    [{ cost: { tokens: 0 } }, /cost.tokens must be an integer from 1/],
    [{ cost: { tokens: 10_001 } }, /cost.tokens must be at most the burst, which is 10000/],
    [{ cost: { requests: 2 } }, /cost.requests must be at most the burst, which is 1/],
    [{ cost: { token: 1 } }, /did you mean "tokens"/],
  ])('reject %j', async (options, message) => {
    const shaper = createShaper(LLM, quiet);
    await expect(shaper.schedule('acme', () => 1, options as never)).rejects.toThrow(message);
  });

  it.each([
    [{ paces: {} }, /with 1 to 8 paces/],
    [{ paces: [] }, /paces must be an object/],
    [{ paces: { 'no space': { limit: 1, window: '1s' } } }, /the name of a pace must be/],
    [{ paces: { permits: { limit: 1, window: '1s' } } }, /the name of a pace must be/],
    [{ paces: { a: { limit: 1 } } }, /SPW_WINDOW_INVALID/],
    [{ paces: { a: { limit: 1, window: '1s', name: 'b' } } }, /SPW_OPTION_UNKNOWN/],
  ])('cannot be %j', (options, message) => {
    expect(() => createShaper(options as never)).toThrow(message);
  });
});

describe('the books of the receiver', () => {
  it('show a store that starts each take at its own time', async () => {
    const { shapers, stores } = fleetOf(1);
    const store = stores[0] as FarStore;
    const { memory } = store;
    store.memory = {
      apply: (steps) => memory.apply(steps.map(({ together: _, ...step }) => step)),
    };
    const receiver = new Receiver();
    for (const tokens of [10_000, 9_000, 1, 1, 1, 1]) {
      receiver.send(shapers[0] as Shaper<Names>, tokens);
    }
    await pass(10_000);
    expect(receiver.excess(() => 1, 500 / 60_000)).toBeGreaterThan(4);
  });

  it.each([
    ['with requests binding', 300],
    ['with tokens binding', 900],
  ])('show neither pace exceeded, and the binding one used: %s', async (_, meanTokens) => {
    const random = seeded(7);
    const { shapers } = fleetOf(4);
    const receiver = new Receiver();
    for (let i = 0; i < 1_200; i += 1) {
      const tokens = 1 + Math.floor(random.uniform() * 2 * meanTokens);
      receiver.send(shapers[i % 4] as Shaper<Names>, tokens);
    }
    await pass(600_000);
    expect(receiver.errors).toEqual([]);
    expect(receiver.received).toHaveLength(1_200);
    // A timer fires up to 1 ms late, so the next start seems up to 1 ms too early.
    expect(receiver.excess(() => 1, 500 / 60_000)).toBeLessThanOrEqual(1 + 500 / 60_000);
    const perMs = 200_000 / 60_000;
    expect(receiver.excess(({ tokens }) => tokens, perMs)).toBeLessThanOrEqual(10_000 + perMs);
    const lastMs = receiver.received.at(-1)?.ms ?? 0;
    const tokens = receiver.received.reduce((sum, one) => sum + one.tokens, 0);
    const used = Math.max((1_200 * 120) / lastMs, (tokens - 10_000) / perMs / lastMs);
    expect(used).toBeGreaterThanOrEqual(0.95);
  });

  it.each(Array.from({ length: 8 }, (_, seed) => seed))(
    'whatever comes in whatever order, with permits or without (seed %i)',
    async (seed) => {
      const random = seeded(seed);
      const any = (count: number) => Math.floor(random.uniform() * count);
      const permits = seed % 2 === 0 ? { maxConcurrent: 4 } : {};
      const { shapers } = fleetOf(3, {}, { maxWait: '8s', ...permits });
      const receiver = new Receiver();
      let settled = 0;
      let running = 0;
      let most = 0;
      for (let job = 0; job < 200; job += 1) {
        const abort = new AbortController();
        const tokens = any(4) === 0 ? 5_000 + any(5_000) : 1 + any(500);
        const work = async () => {
          receiver.received.push({ ms: receiver.nowMs, tokens });
          running += 1;
          most = Math.max(most, running);
          await new Promise((resolve) => setTimeout(resolve, any(300)));
          running -= 1;
        };
        const end = () => {
          settled += 1;
        };
        const options = { cost: { tokens }, priority: any(2), signal: abort.signal };
        (shapers[any(3)] as Shaper<Names>).schedule('acme', work, options).then(end, end);
        if (any(5) === 0) setTimeout(() => abort.abort(), any(2_000));
        await pass(any(400));
      }
      await pass(60_000);
      expect(settled).toBe(200);
      expect(receiver.received.length).toBeGreaterThan(20);
      expect(receiver.excess(() => 1, 500 / 60_000)).toBeLessThanOrEqual(1 + 500 / 60_000);
      const perMs = 200_000 / 60_000;
      expect(receiver.excess(({ tokens }) => tokens, perMs)).toBeLessThanOrEqual(10_000 + perMs);
      if (seed % 2 === 0) expect(most).toBeLessThanOrEqual(4);
    },
  );
});
