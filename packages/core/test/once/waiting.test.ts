/** Many retries that wait for one request: their cost for the store, and how many may wait. */

import { setImmediate as turn } from 'node:timers/promises';
import { idempotency } from '@spillway/core';
import { Gate } from '@spillway/core/adapter';
import { remoteStore } from '@spillway/core/store';
import { fakeTime, request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { Call, OnceStore, setUp } from './gate-set-up.js';

describe('many repeats that wait for one key', () => {
  fakeTime();

  it('ask the store as often as one, and get the answer', async () => {
    const { store, send } = setUp({ wait: '60s' });
    const first = await send();
    const repeats = Array.from({ length: 32 }, () => send());
    await vi.advanceTimersByTimeAsync(10_000);
    expect(store.count('look')).toBeLessThan(30);
    first.end('done');
    await first.close();
    await vi.advanceTimersByTimeAsync(500);
    for (const repeat of repeats) expect((await repeat).text).toBe('done');
  });

  it('are 32 at most: more are refused at once, as without a wait', async () => {
    const { store, send } = setUp({ wait: '60s' });
    const first = await send();
    const texts: string[] = [];
    const repeats = Array.from({ length: 1_000 }, async () => texts.push((await send()).text));
    await vi.advanceTimersByTimeAsync(1);
    await turn(); // after this many answers, the event loop turns first
    expect(texts).toEqual(Array(968).fill('409'));
    first.end('done');
    await first.close();
    await vi.advanceTimersByTimeAsync(500);
    await Promise.all(repeats);
    expect(texts.slice(968)).toEqual(Array(32).fill('done'));
    expect(store.count('look')).toBeLessThan(3);
  });

  it('leave room when their clients go, or their wait is over', async () => {
    const { send, gate } = setUp({ wait: '2s' });
    await send();
    const call = Object.assign(new Call(), { hasLeft: false });
    const headers = { 'idempotency-key': 'key-1' };
    const left = gate.enter(request({ method: 'POST', headers }), call, call);
    for (let at = 0; at < 31; at += 1) void send();
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await send()).text).toBe('409');
    call.hasLeft = true;
    await vi.advanceTimersByTimeAsync(500);
    expect(await left).toBe('gone');
    let isRefused = false;
    void send().then(() => {
      isRefused = true;
    });
    await vi.advanceTimersByTimeAsync(1);
    expect(isRefused).toBe(false);
    await vi.advanceTimersByTimeAsync(2_500);
    expect(isRefused).toBe(true);
  });

  it('do not wait for ever beside one whose exchange fails', async () => {
    const { send, gate, faults } = setUp({ wait: '60s' });
    const first = await send();
    const call = new Call();
    const headers = { 'idempotency-key': 'key-1' };
    const broken = gate.enter(request({ method: 'POST', headers }), call, call);
    const repeat = send();
    await vi.advanceTimersByTimeAsync(1);
    call.isGone = () => {
      throw new Error('mine');
    };
    await vi.advanceTimersByTimeAsync(1_000);
    first.end('done');
    await first.close();
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await repeat).text).toBe('done');
    expect(await broken).toBe('pass'); // as for any exchange that fails
    expect(faults).toMatchObject([{ source: 'adapter', error: { message: 'mine' } }]);
  });

  it('ask the store of their own guard', async () => {
    const once = idempotency({ scope: () => 'ada', wait: '5s' });
    const enter = async (gate: Gate<unknown>) => {
      const call = new Call();
      const headers = { 'idempotency-key': 'key-1' };
      await gate.enter(request({ method: 'POST', headers }), call, call);
      return call;
    };
    const gates = [remoteStore(new OnceStore()), remoteStore(new OnceStore())].map(
      (store) => new Gate(once, { store }),
    );
    const firsts = await Promise.all(gates.map(enter));
    const repeats = gates.map(enter);
    await vi.advanceTimersByTimeAsync(200);
    firsts[1]?.end('second');
    await firsts[1]?.close();
    await vi.advanceTimersByTimeAsync(600);
    expect((await repeats[1])?.text).toBe('second');
    await vi.advanceTimersByTimeAsync(5_000);
    expect((await repeats[0])?.text).toBe('409');
  });
});
