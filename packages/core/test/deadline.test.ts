/** The deadline of a call: which calls are answered in time, which are not, and what an unanswered call retains. */

import { type Answer, memoryStore, type Step, type Store } from '@spillway/core';
import { type ApplyOptions, makeRule, remoteStore, withDeadline } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { collectGarbage } from './fetch/fetch-set-up.js';

const step: Step = {
  op: 'take',
  limiter: 'a',
  key: 'k',
  rule: makeRule('token-bucket', 5, 60_000_000),
  cost: 1,
  binding: true,
};

it('a call that is never answered keeps nothing of the calls beside it', async () => {
  let gone = 0;
  const registry = new FinalizationRegistry<string>(() => {
    gone += 1;
  });
  const open: unknown[] = [];
  const memory = memoryStore();
  const store = withDeadline(
    remoteStore({
      sync: false,
      apply: (steps) => {
        const isFirst = open.length === 0;
        const call = new Promise<readonly Answer[]>((resolve) => {
          if (isFirst) open.push(resolve);
          else resolve(memory.apply(steps));
        });
        return call;
      },
    }),
    1_000,
    new ManualClock(),
  );
  const ask = async (): Promise<void> => registry.register(await store.apply([step]), '');
  await Promise.allSettled(Array.from({ length: 10 }, ask));
  await collectGarbage(() => gone === 9);
  expect(gone).toBe(9);
  expect(open).toHaveLength(1);
});

describe('a deadline', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const silent: Store = remoteStore({ sync: false, apply: () => new Promise(() => undefined) });

  it('rejects a call that the store leaves open', async () => {
    const call = Promise.resolve(withDeadline(silent, 50_000).apply([step]));
    const outcome = call.catch((error: Error) => error.message);
    await vi.advanceTimersByTimeAsync(50);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(2);
    expect(await outcome).toMatch(/within 50 ms \(SPW_STORE_TIMEOUT\)/);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('leaves no timer behind when the store answers', async () => {
    const memory = memoryStore();
    const prompt: Store = remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
    const store = withDeadline(prompt, 50_000);
    await Promise.all([store.apply([step]), store.apply([step])]);
    expect(vi.getTimerCount()).toBe(0);
  });

  describe('of many calls', () => {
    function asking() {
      const clock = new ManualClock();
      const store = withDeadline(silent, 50_000, clock);
      let failed = 0;
      const ask = () => {
        Promise.resolve(store.apply([step])).catch(() => {
          failed += 1;
        });
      };
      return { clock, ask, failed: () => failed };
    }

    it('has one timer for those of a millisecond, and leaves each its time', async () => {
      const { clock, ask, failed } = asking();
      ask();
      clock.advance(1);
      ask();
      expect(vi.getTimerCount()).toBe(1);
      clock.advance(0.001);
      ask();
      expect(vi.getTimerCount()).toBe(2);
      await vi.advanceTimersByTimeAsync(50);
      expect(failed()).toBe(0);
      await vi.advanceTimersByTimeAsync(2);
      expect(failed()).toBe(3);
    });

    it('has another timer for one that waits less long than those before it', async () => {
      const store = withDeadline(silent, 50_000, new ManualClock(1_000_000));
      const late: string[] = [];
      const ask = (name: string, options?: ApplyOptions) => {
        Promise.resolve(store.apply([step], options)).catch(() => late.push(name));
      };
      ask('first');
      ask('second', { deadlineUs: 1_040_000 });
      await vi.advanceTimersByTimeAsync(42);
      expect(late).toEqual(['second']);
      await vi.advanceTimersByTimeAsync(10);
      expect(late).toEqual(['second', 'first']);
    });

    it('has one timer for those of one instant', () => {
      const { ask } = asking();
      for (let i = 0; i < 3; i += 1) ask();
      expect(vi.getTimerCount()).toBe(1);
    });

    it('has another timer for those that are asked once a timer has come', async () => {
      const { ask, failed } = asking();
      ask();
      vi.advanceTimersByTime(51);
      ask();
      await vi.advanceTimersByTimeAsync(52);
      expect(failed()).toBe(2);
    });

    it('has another timer also if a call was answered after the timer had come', async () => {
      const clock = new ManualClock();
      const answer: ((answers: Answer[]) => void)[] = [];
      const slow: Store = remoteStore({
        sync: false,
        apply: () => new Promise((done) => answer.push(done)),
      });
      const store = withDeadline(slow, 50_000, clock);
      const outcomeOf = (options?: ApplyOptions) =>
        Promise.resolve(store.apply([step], options)).catch(() => 'late');
      const first = outcomeOf();
      clock.advance(51);
      await vi.advanceTimersByTimeAsync(52);
      answer[0]?.([]);
      expect(await first).toBe('late');
      const second = outcomeOf({ deadlineUs: clock.nowUs() });
      await vi.advanceTimersByTimeAsync(52);
      expect(await second).toBe('late');
    });

    it('is not misled by a promise that ends twice, or by one that throws', async () => {
      const twice = {
        // biome-ignore lint/suspicious/noThenProperty: a promise of somebody else's making
        then(done: (answers: Answer[]) => void) {
          done([]);
          done([]);
        },
      } as unknown as Promise<Answer[]>;
      const torn = {
        // biome-ignore lint/suspicious/noThenProperty: a promise of somebody else's making
        then() {
          throw new Error('torn');
        },
      } as unknown as Promise<Answer[]>;
      const given = [twice, new Promise<Answer[]>(() => undefined), torn];
      let asked = 0;
      const apply = () => given[asked++] ?? [];
      const store = withDeadline(remoteStore({ sync: false, apply }), 50_000);
      const outcomes = given.map(() => Promise.resolve(store.apply([step])).catch(String));
      expect(await outcomes[0]).toEqual([]);
      expect(await outcomes[2]).toMatch(/torn/);
      await vi.advanceTimersByTimeAsync(52);
      expect(await outcomes[1]).toMatch(/SPW_STORE_TIMEOUT/);
      expect(vi.getTimerCount()).toBe(0);
    });

    it('has a timer for each where a timer ends with the request that set it', () => {
      vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
      const { ask } = asking();
      for (let i = 0; i < 3; i += 1) ask();
      vi.unstubAllGlobals();
      expect(vi.getTimerCount()).toBe(3);
    });
  });

  it('takes an answer that had arrived before a stalled loop came to its timer', async () => {
    const memory = memoryStore();
    let arrive: () => void = () => undefined;
    const store = withDeadline(
      remoteStore({
        sync: false,
        apply: (steps) =>
          new Promise((resolve) => {
            arrive = () => resolve(memory.apply(steps));
          }),
      }),
      50_000,
    );
    const call = store.apply([step]);
    vi.advanceTimersByTime(51); // the timer has fired; the poll phase comes next
    arrive();
    await vi.advanceTimersByTimeAsync(1);
    expect((await call)[0]?.allowed).toBe(true);
  });

  it('rejects the others where one answer has arrived before a stalled loop came to its timer', async () => {
    const memory = memoryStore();
    const arrive: (() => void)[] = [];
    const late: Store = remoteStore({
      sync: false,
      apply: (steps) =>
        new Promise((resolve) => void arrive.push(() => resolve(memory.apply(steps)))),
    });
    const store = withDeadline(late, 50_000, new ManualClock());
    const calls = Promise.allSettled([1, 2, 3].map(() => store.apply([step])));
    vi.advanceTimersByTime(51);
    arrive[1]?.();
    await vi.advanceTimersByTimeAsync(1);
    expect((await calls).map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'rejected',
    ]);
  });

  /** The deadline that a store gets for these steps, sent at 1 s. */
  async function toldOf(steps: readonly Step[]): Promise<number | undefined> {
    let told: number | undefined;
    const curious: Store = remoteStore({
      sync: false,
      apply: async (_, options) => {
        told = options?.deadlineUs;
        return [];
      },
    });
    await withDeadline(curious, 50_000, new ManualClock(1_000_000)).apply(steps);
    return told;
  }
  const group = (size: number) =>
    Array.from({ length: size }, (_, i) => ({ ...step, key: `${i}` }));

  it('tells the store how long anybody waits', async () => {
    expect(await toldOf([step])).toBe(1_050_000);
  });

  it('gives what is only given back all the time there is, in the store too', async () => {
    const put: Step = { ...step, op: 'put', receipt: { atUs: 1, num: 0, units: 1 } };
    expect(await toldOf([put, put])).toBe(Infinity);
    expect(await toldOf([put, step])).toBe(1_050_000);
  });

  it.each([
    [128, 50],
    [129, 100],
    [640, 100],
    [641, 150],
    [1_000, 150],
  ])('waits for a group of %i steps for %i ms', async (size, ms) => {
    expect(await toldOf(group(size))).toBe(1_000_000 + ms * 1_000);
    const call = Promise.resolve(withDeadline(silent, 50_000).apply(group(size)));
    let failed = false;
    call.catch(() => {
      failed = true;
    });
    await vi.advanceTimersByTimeAsync(ms);
    expect(failed).toBe(false);
    await vi.advanceTimersByTimeAsync(2);
    expect(failed).toBe(true);
  });

  it('leaves a store alone that answers at once', () => {
    const memory = memoryStore();
    expect(withDeadline(memory, 50_000)).toBe(memory);
  });
});
