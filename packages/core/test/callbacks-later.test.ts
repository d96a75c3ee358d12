/** Callbacks of limits that return promises: they are awaited together, not too long, and none is lost. */

import {
  concurrencyLimit,
  createGuard,
  type Duration,
  type GuardOptions,
  rateLimit,
} from '@spillway/core';
import { request } from 'spillway-testkit';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setUp, two } from './guard-set-up.js';

const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
beforeEach(() => {
  unhandled.length = 0;
  vi.useFakeTimers();
  process.on('unhandledRejection', note);
});
afterEach(async () => {
  vi.useRealTimers();
  await new Promise(setImmediate);
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

const answer = <T>(value: T) => Promise.resolve(value);
const rejects = () => Promise.reject(new Error('rejected'));
const never = () => new Promise<never>(() => undefined);

function setUpLater(limiters: Parameters<typeof setUp>[0], options: GuardOptions = {}) {
  const { guard, faults, ...rest } = setUp(limiters, options);
  const allowed = async (path = '/') => (await guard.admit(request({ path }))).allowed;
  return { guard, faults, allowed, ...rest };
}

describe('a callback that answers later', () => {
  it('is heard: key', async () => {
    const { allowed, faults } = setUpLater(rateLimit({ ...two, key: ({ path }) => answer(path) }));
    expect([await allowed('/a'), await allowed('/a'), await allowed('/a')]).toEqual([
      true,
      true,
      false,
    ]);
    expect(await allowed('/b')).toBe(true);
    expect(faults).toEqual([]);
  });

  it('is heard: plan and cost', async () => {
    const { guard } = setUpLater(
      rateLimit({ ...two, plan: () => answer({ limit: 10 }), cost: () => answer(3) }),
    );
    expect((await guard.admit(request())).decisions).toMatchObject([{ cost: 3, remaining: 7 }]);
  });

  it('is heard: key and plan of permits', async () => {
    const { allowed } = setUpLater(
      concurrencyLimit({
        name: 'c',
        limit: 9,
        plan: () => answer({ limit: 1 }),
        key: ({ path }) => answer(path),
      }),
    );
    expect([await allowed('/a'), await allowed('/a'), await allowed('/b')]).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('is heard: skip', async () => {
    const { guard, allowed } = setUpLater(rateLimit(two), {
      skip: ({ path }) => answer(path === '/health'),
    });
    for (let i = 0; i < 3; i += 1) expect(await allowed('/health')).toBe(true);
    expect((await guard.admit(request({ path: '/health' }))).decisions).toMatchObject([
      { outcome: 'skipped' },
    ]);
    expect([await allowed(), await allowed(), await allowed()]).toEqual([true, true, false]);
  });

  it('is heard: refundIf', async () => {
    const { guard, allowed } = setUpLater(rateLimit({ ...two, refundIf: () => answer(true) }));
    for (let i = 0; i < 5; i += 1) {
      const admission = await guard.admit(request());
      expect(admission.allowed).toBe(true);
      await admission.release({ status: 200 });
    }
    expect(await allowed()).toBe(true);
  });

  it.each(['0', Number.NaN, {}])('may answer junk, which is a fault: %s', async (junk) => {
    const { guard, faults } = setUpLater(rateLimit({ ...two, cost: () => answer(junk as number) }));
    expect((await guard.admit(request())).decisions).toMatchObject([{ cost: 1 }]);
    expect(faults).toMatchObject([{ limiter: 'two', source: 'cost' }]);
  });

  it('makes nobody else wait: a guard whose callbacks answer at once makes no promise', () => {
    const { admit } = setUp(
      rateLimit({ ...two, key: () => 'a', cost: () => 1, refundIf: () => false }),
      { skip: () => false },
    );
    expect(admit().allowed).toBe(true);
  });
});

describe('the promises of one request', () => {
  it('are waited for together', async () => {
    const slow = <T>(value: T) =>
      new Promise<T>((resolve) => void setTimeout(() => resolve(value), 600));
    const { guard, faults } = setUpLater(
      [
        rateLimit({ ...two, key: () => slow('a'), cost: () => slow(2) }),
        rateLimit({ ...two, name: 'other', key: () => slow('b') }),
      ],
      { skip: () => slow(false) },
    );
    const admission = guard.admit(request());
    await vi.advanceTimersByTimeAsync(600);
    expect((await admission).decisions).toMatchObject([{ remaining: 0 }, { remaining: 1 }]);
    expect(faults).toEqual([]);
  });

  it.each<[Duration | undefined, number]>([
    [undefined, 1_000],
    ['20ms', 20],
  ])('are waited for at most callbackTimeout: %s', async (callbackTimeout, ms) => {
    const { guard, faults } = setUpLater(
      rateLimit({ ...two, key: never, cost: never, plan: never }),
      { skip: never, callbackTimeout },
    );
    let done = false;
    const admission = Promise.resolve(guard.admit(request())).finally(() => {
      done = true;
    });
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(done).toBe(false);
    await vi.advanceTimersByTimeAsync(2); // then input that has arrived is read once more
    expect(await admission).toMatchObject({ allowed: true, decisions: [{ remaining: 1 }] });
    expect(faults.map(({ source }) => source).sort()).toEqual(['cost', 'key', 'plan', 'skip']);
    expect(faults[0]).toMatchObject({ error: { message: `no answer within ${ms} ms` } });
  });

  it('are heard if they answered while the event loop stood still for longer', async () => {
    // Due timers run before input that has arrived is read.
    const key = (): Promise<string> =>
      new Promise((resolve) => setTimeout(() => setImmediate(() => resolve('ada')), 1_000));
    const { guard, faults } = setUpLater(rateLimit({ ...two, key }));
    const asked = guard.admit(request());
    await vi.advanceTimersByTimeAsync(1_001);
    expect((await asked).allowed).toBe(true);
    expect(faults).toEqual([]);
  });

  it('that reject count as functions that throw', async () => {
    const { guard, faults } = setUpLater(
      rateLimit({ ...two, key: rejects, cost: rejects, plan: rejects }),
      { skip: rejects },
    );
    expect((await guard.admit(request())).decisions).toMatchObject([{ cost: 1, remaining: 1 }]);
    expect(faults.map(({ source }) => source).sort()).toEqual(['cost', 'key', 'plan', 'skip']);
    expect(faults[0]).toMatchObject({ error: { message: 'rejected' } });
  });

  it('that reject after the timeout end no process, and are told once', async () => {
    const late = () =>
      new Promise<never>((_, reject) => void setTimeout(() => reject(new Error('late')), 2_000));
    const { guard, faults } = setUpLater(rateLimit({ ...two, key: late, refundIf: late }));
    const asked = guard.admit(request());
    await vi.advanceTimersByTimeAsync(3_000);
    const released = (await asked).release({ status: 200 });
    await vi.advanceTimersByTimeAsync(3_000);
    await released;
    expect(faults.map(({ source }) => source)).toEqual(['key', 'refundIf']);
  });

  it('may be of anybody: a thenable that throws is a fault', async () => {
    const broken = {
      // biome-ignore lint/suspicious/noThenProperty: it is what is tested
      then: () => {
        throw new Error('no promise');
      },
    };
    const { guard, faults } = setUpLater(rateLimit({ ...two, key: () => broken as never }));
    expect((await guard.admit(request())).allowed).toBe(true);
    expect(faults).toMatchObject([{ source: 'key', error: { message: 'no promise' } }]);
  });

  it('may have a `then` of their own, which throws: the address is counted', async () => {
    const torn = () => {
      throw new Error('torn');
    };
    // biome-ignore lint/suspicious/noThenProperty: it is what is tested
    const key = () => Object.assign(Promise.resolve('a'), { then: torn });
    const { allowed, faults } = setUpLater(rateLimit({ ...two, key }));
    expect([await allowed(), await allowed(), await allowed()]).toEqual([true, true, false]);
    expect(faults[0]).toMatchObject({ source: 'key', error: { message: 'torn' } });
  });
});

it.each([0, '0ms', '61s', -1, 'soon', Number.NaN])('callbackTimeout must not be %s', (timeout) => {
  expect(() => createGuard(rateLimit(two), { callbackTimeout: timeout as never })).toThrow(
    /SPW_OPTION_INVALID|SPW_WINDOW_INVALID|SPW_DURATION/,
  );
});

it('permits do not wait for a refundIf that answers later', async () => {
  let say = (_: boolean): void => undefined;
  const verdict = new Promise<boolean>((resolve) => {
    say = resolve;
  });
  const { guard } = setUpLater([
    concurrencyLimit({ name: 'c', limit: 1 }),
    rateLimit({ ...two, limit: 1, refundIf: () => verdict }),
  ]);
  const first = await guard.admit(request());
  const released = first.release({ status: 200 });
  expect(guard.inProgress).toBe(0);
  expect(await guard.admit(request())).toMatchObject({ binding: { limiter: 'two' } });
  say(true);
  await released;
  expect((await guard.admit(request())).allowed).toBe(true);
});

it('a guard that closes waits for what refundIf says later', async () => {
  let say: (verdict: boolean) => void = () => undefined;
  const verdict = new Promise<boolean>((resolve) => {
    say = resolve;
  });
  const { guard } = setUpLater(rateLimit({ ...two, limit: 1, refundIf: () => verdict }));
  void (await guard.admit(request())).release({ status: 200 });
  let closed = false;
  const closing = guard.close().then(() => {
    closed = true;
  });
  await vi.advanceTimersByTimeAsync(1);
  expect(closed).toBe(false);
  say(true);
  await closing;
  expect((await guard.admit(request())).allowed).toBe(true);
});
