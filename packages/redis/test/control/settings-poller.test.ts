/** How a process follows the settings of a simulated Redis that is slow, silent, or has another time. */

import type { Fault } from '@spillway/core';
import { stall } from 'spillway-testkit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type RedisClient, redisControl } from '../../src/index.js';

const NOW_US = 1_767_225_600_000_000;

/** Redis's reply to a look: the settings of one limiter, their revision, and the server's time. */
function reply(revision: number, mode: string, { nowUs = NOW_US, untilMs = 0 } = {}): unknown {
  const value = `1 ${NOW_US / 1000} ${untilMs} {"value":"${mode}","by":"ada","because":"a test"}`;
  return [`${nowUs}`, `${revision}`, '', 0, 'mode ["api"]', value];
}

/** A client whose calls the test answers, or nobody. */
function played() {
  const calls: { answer: (reply: unknown) => void; fail: (error: Error) => void }[] = [];
  const call = () =>
    new Promise<unknown>((answer, fail) => {
      calls.push({ answer, fail });
    });
  const client: RedisClient = {
    state: 'ready',
    evalsha: call,
    eval: call,
    onceChanged: () => () => {},
  };
  const faults: Fault[] = [];
  const control = redisControl(client, { onFault: (fault) => faults.push(fault) });
  return { calls, control, faults };
}

beforeAll(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  stall(0);
});
afterAll(() => void vi.useRealTimers());

/** Lets `ms` pass, and runs all timers that are due. */
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('a process that follows', () => {
  it('asks at its first use and twice a second from then on, used or not', async () => {
    const { calls, control } = played();
    await pass(10_000);
    expect(calls).toHaveLength(0);
    control.settingsOf('api');
    await pass(0);
    for (let i = 0; i < 10; i += 1) {
      calls.at(-1)?.answer(reply(1, 'off'));
      await pass(500);
    }
    expect(calls).toHaveLength(11);
    expect(control.settingsOf('api')).toEqual({ mode: 'off' });
    control.close();
    calls.at(-1)?.answer(reply(2, 'shadow'));
    await pass(10_000);
    expect(calls).toHaveLength(11);
  });

  it('asks nothing more while it waits, gives up after five seconds, tells once and asks again', async () => {
    const { calls, control, faults } = played();
    control.settingsOf('api');
    await pass(4_900);
    expect(calls).toHaveLength(1);
    await pass(1_000);
    expect(calls).toHaveLength(2);
    expect(faults).toMatchObject([{ source: 'control', error: { code: 'SPW_STORE_TIMEOUT' } }]);
    calls[1]?.answer(reply(1, 'off'));
    await pass(0);
    expect(control.settingsOf('api')).toEqual({ mode: 'off' });
    await pass(500);
    calls[2]?.fail(new Error('ECONNRESET'));
    await pass(500);
    calls[3]?.fail(new Error('ECONNRESET'));
    await pass(500);
    expect(faults).toHaveLength(2); // one for each outage
    expect(control.settingsOf('api')).toEqual({ mode: 'off' });
    control.close();
  });

  it('holds up a start for a second at most, or for as long as it is told, and follows what comes later', async () => {
    const { calls, control } = played();
    const ended: unknown[] = [];
    const note = (answered: boolean) => void ended.push([answered, performance.now()]);
    const fromMs = performance.now();
    void control.refresh().then(note);
    void control.refresh('250ms').then(note);
    await pass(2_000);
    expect(ended).toEqual([
      [false, fromMs + 250],
      [false, fromMs + 1_000],
    ]);
    calls[0]?.answer(reply(1, 'off'));
    await pass(0);
    expect(control.settingsOf('api')).toEqual({ mode: 'off' });
    expect(() => control.refresh('soon' as '1s')).toThrow('SPW_OPTION_INVALID');
    control.close();
  });

  it('believes what was asked last, whatever is answered last', async () => {
    const { calls, control } = played();
    const look = control.refresh();
    const list = control.list();
    await pass(0);
    calls[1]?.answer(reply(2, 'off'));
    await list;
    calls[0]?.answer(reply(1, 'shadow'));
    await look;
    expect(control.settingsOf('api')).toEqual({ mode: 'off' });
    control.close();
  });

  it('looks again when told to, even while it waits for a look that may be older', async () => {
    const { calls, control } = played();
    control.settingsOf('api');
    const look = control.refresh();
    await pass(0);
    calls[0]?.answer(reply(1, 'shadow'));
    await pass(0);
    calls[1]?.answer(reply(2, 'off'));
    expect(await look).toBe(true);
    expect(control.settingsOf('api')).toEqual({ mode: 'off' });
    control.close();
  });

  it('does not take an answer that nothing is new, to an earlier read, for nothing being set', async () => {
    const { calls, control } = played();
    const first = control.refresh();
    await pass(0);
    calls[0]?.answer(reply(1, 'off'));
    await first;
    const [look, list] = [control.refresh(), control.list()];
    await pass(0);
    calls[1]?.answer(reply(2, 'shadow'));
    await look;
    calls[2]?.answer([`${NOW_US}`, '1']);
    await list;
    expect(control.settingsOf('api')).toEqual({ mode: 'shadow' });
    control.close();
  });

  it('takes the time from Redis, and goes by its own clock between two looks', async () => {
    const { calls, control } = played();
    const look = control.refresh();
    await pass(0);
    // An hour is left by the server's clock, and so by this process's, whatever time it shows.
    const untilMs = NOW_US / 1000 + 3_600_000;
    calls[0]?.answer(reply(1, 'off', { untilMs }));
    await look;
    control.close();
    await pass(3_599_900);
    expect(control.settingsOf('api')).toEqual({ mode: 'off' });
    await pass(200);
    expect(control.settingsOf('api')).toBeUndefined();
  });

  it('drops what has ended by the clock of Redis already', async () => {
    const { calls, control } = played();
    const look = control.refresh();
    await pass(0);
    calls[0]?.answer(reply(1, 'off', { untilMs: NOW_US / 1000 }));
    await look;
    expect(control.settingsOf('api')).toBeUndefined();
    control.close();
  });
});
