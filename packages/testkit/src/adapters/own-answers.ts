/** Faulty `onRejected` functions: the client still gets exactly one rejection, and no handler runs. */

import type { Fault } from '@spillway/core';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Reply } from '../http.js';
import { HELLO, latch, type OnRejected, type RefusingDriver } from './driver.js';

const CALLS_NEXT = /^onRejected called next\(\)/;
const ENDS = /^onRejected ended without an answer/;
const LATE = /^onRejected has not answered within 10 s/;

const never = (): Promise<never> => new Promise(() => undefined);

/**
 * For each faulty function: a title, the function, and the fault that is reported if the framework passes a `next`. A
 * fourth item is the fault that is reported without a `next`, if it differs.
 */
const WRONG: readonly [string, OnRejected, RegExp, RegExp?][] = [
  ['calls next()', (_, next) => void next?.(), CALLS_NEXT, ENDS],
  ['returns next()', (_, next) => next?.() as undefined, CALLS_NEXT, ENDS],
  ['awaits next()', async (_, next) => void (await next?.()), CALLS_NEXT, ENDS],
  [
    'calls next() later',
    async (_, next) => {
      await Promise.resolve();
      next?.();
    },
    CALLS_NEXT,
    ENDS,
  ],
  [
    'calls next() and never ends',
    (_, next) => {
      next?.();
      return never();
    },
    CALLS_NEXT,
    LATE,
  ],
  ['returns nothing', () => undefined, ENDS],
  ['returns a promise of nothing', async () => undefined, ENDS],
  ['never ends', never, LATE],
];

export function ownAnswersEnd<Guard>(
  driver: RefusingDriver<Guard>,
  { handsNext }: { readonly handsNext: boolean },
): void {
  /**
   * Serves a guard that rejects everything. Fakes timers, so no test waits 10 s until a missing answer is reported.
   * Connections work without real timers.
   */
  const refusing = async (own: OnRejected) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const faults: Fault[] = [];
    const ran: string[] = [];
    const asked = latch();
    const limiter = driver.rateLimit({ name: 'own', limit: 1, window: '1h', cost: () => 2 });
    const onFault = (fault: Fault) => void faults.push(fault);
    const guard = driver.guard(limiter, { onFault }, (admission, next) => {
      asked.open();
      return own(admission, next);
    });
    const handle = (visit: Parameters<typeof HELLO.handle>[0]) => {
      ran.push(visit.path);
      return HELLO.handle(visit);
    };
    const onError = (error: Error) => ({ body: error.message });
    const { get } = await driver.serve({
      guards: [guard],
      routes: [{ ...HELLO, handle }],
      onError,
    });
    const messages = () => faults.map(({ error }) => (error as Error).message);
    return { get, asked: asked.opened, faults, messages, ran };
  };

  const expectDefault = (reply: Reply): void => {
    expect(reply).toMatchObject({
      status: 429,
      headers: { 'content-type': 'application/problem+json', ratelimit: '"own";r=0' },
    });
    expect(JSON.parse(reply.body)).toMatchObject({ status: 429 });
    expect(reply.fields.filter(([name]) => /^content-type$/i.test(name))).toHaveLength(1);
  };

  it.each(WRONG)(
    'rejects a request as if there were no own answer where that %s',
    async (_, own, withNext, without = withNext) => {
      const { get, asked, faults, messages, ran } = await refusing(own);
      const reply = get();
      await asked;
      await vi.advanceTimersByTimeAsync(10_000);
      expectDefault(await reply);
      expect(ran).toEqual([]);
      expect(faults).toMatchObject([{ limiter: '', source: 'adapter' }]);
      expect(messages()).toEqual([expect.stringMatching(handsNext ? withNext : without)]);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it('waits for an own answer that takes just less than 10 s', async () => {
    const { get, asked, faults } = await refusing(
      () => new Promise((resolve) => setTimeout(() => resolve({ body: 'mine' }), 9_999)),
    );
    const reply = get();
    await asked;
    await vi.advanceTimersByTimeAsync(9_999);
    expect(await reply).toMatchObject({ status: 429, body: 'mine' });
    expect(faults).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each<[string, () => { readonly body: string }]>([
    ['answers', () => ({ body: 'too late' })],
    [
      'fails',
      () => {
        throw new Error('too late');
      },
    ],
  ])('has answered when an own answer %s after more than 10 s', async (_, own) => {
    const late = latch();
    const ended = latch();
    const { get, asked, ran } = await refusing(async () => {
      await late.opened;
      try {
        return own();
      } finally {
        ended.open();
      }
    });
    const reply = get();
    await asked;
    await vi.advanceTimersByTimeAsync(10_000);
    expectDefault(await reply);
    late.open();
    await ended.opened;
    await new Promise(setImmediate);
    expect(ran).toEqual([]);
  });

  it('hands an error of an own answer to the error handler, and to no other handler', async () => {
    const { get, faults, ran } = await refusing(async () => {
      throw new Error('mine');
    });
    expect(await get()).toMatchObject({ body: 'mine' });
    expect(ran).toEqual([]);
    expect(faults).toEqual([]);
  });
}
