/** One outage of a store as guards, observers and operators see it. */

import {
  type Answer,
  type BreakerEvent,
  createLimiter,
  memoryStore,
  rateLimit,
  type Step,
  type StoreCallEvent,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { Calls } from '../src/stores/calls.js';
import { Fallback } from '../src/stores/fallback.js';
import { remoteState } from '../src/stores/remote-state.js';
import { lost, SETTINGS, setUp } from './breaker-set-up.js';

describe('an outage', () => {
  async function outage({ clock, store, fail, ask }: ReturnType<typeof setUp>, ms = 1_500) {
    await fail(20);
    clock.advance(ms);
    store.error = undefined;
    expect(await ask()).toBe('allowed');
  }

  it('is told in one line when it begins and one when it ends, however many guards and limiters there are', async () => {
    const all = setUp();
    const { clock, store, warnings, make, ask } = all;
    const others = ['b', 'c'].map((name) => make(name));
    make('d', { onStoreError: 'deny' });
    createLimiter(
      { name: 'e', limit: 1, window: '1m' },
      { store, onStoreError: 'local', logger: false },
    );
    for (let i = 0; i < 2; i += 1) {
      await outage(all);
      for (const other of others) expect(await ask(other)).toBe('allowed');
      clock.advance('60s');
    }
    const lines = [
      'Spillway: the store is failing (connection lost). Meanwhile: a, b, c, e: local; d: deny.',
      'Spillway: the store works again, after 1.5 s.',
    ];
    expect(warnings).toEqual([...lines, ...lines]);
  });

  it('is not told to anybody with logger false', async () => {
    const console = vi.spyOn(globalThis.console, 'warn').mockImplementation(() => undefined);
    const all = setUp({ logger: false });
    await outage(all);
    expect(console).not.toHaveBeenCalled();
    console.mockRestore();
  });

  it('is told to the console by default', async () => {
    const console = vi.spyOn(globalThis.console, 'warn').mockImplementation(() => undefined);
    const { store } = setUp();
    const limiter = createLimiter({ name: 'c', limit: 5, window: '1m' }, { store });
    store.error = lost;
    for (let i = 0; i < 20; i += 1) await limiter.consume('ada');
    expect(console).toHaveBeenCalledOnce();
    console.mockRestore();
  });

  it('is told to observers: each call, and when the breaker opens and closes', async () => {
    const calls: StoreCallEvent[] = [];
    const changes: BreakerEvent[] = [];
    const observer = {
      onStoreCall: (event: StoreCallEvent) => calls.push(event),
      onBreaker: (event: BreakerEvent) => changes.push(event),
    };
    await outage(setUp({ observers: [observer] }));
    // Three that failed, the probe in the background, and the call of the last request.
    expect(calls.map(({ outcome }) => outcome)).toEqual(['other', 'other', 'other', 'ok', 'ok']);
    expect(changes).toEqual([
      { state: 'open', reason: 'failures', openMs: 0, error: lost },
      { state: 'closed', reason: 'failures', openMs: 1_500 },
    ]);
  });

  it('is survived by a logger and observers that throw', async () => {
    const oops = () => {
      throw new Error('oops');
    };
    const faults: unknown[] = [];
    await outage(
      setUp({
        logger: { warn: oops },
        observers: [{ onBreaker: oops, onStoreCall: oops }],
        onFault: ({ source, error }) => {
          if (source === 'observer') faults.push(error);
        },
      }),
    );
    expect(faults).toHaveLength(7);
  });
});

describe('three processes that count by themselves while the breaker is open, each with a third of the limit', () => {
  const WINDOW_MS = 60_000;

  function fleet() {
    const clock = new ManualClock();
    const shared = memoryStore({ clock });
    const limiter = rateLimit({
      name: 'a',
      limit: 30,
      window: '1m',
      onStoreError: 'local',
      localShare: 1 / 3,
    });
    const processes = [1, 2, 3].map(() => {
      const store = remoteStore({
        sync: false,
        down: false,
        async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
          if (this.down) throw lost;
          return shared.apply(steps);
        },
      });
      const state = remoteState(store, clock);
      const breaker = state.breaker(SETTINGS);
      const calls = new Calls(store, 50_000, breaker);
      const guarded = new Fallback(calls, state.counters, store);
      const context = { onStoreError: 'allow' as const, fault: () => undefined };
      const ask = async () => {
        const step = await limiter.step(request(), true, context);
        return await guarded.askWithFallback(
          [step as Step],
          ([answer]) => answer?.allowed === true,
        );
      };
      return { store, ask };
    });
    const [first] = processes;
    const fail = () => {
      for (const { store } of processes) store.down = true;
    };
    /** All callers send requests as often as they can. */
    const flood = async (): Promise<number> => {
      let passed = 0;
      for (const { ask } of processes) while (await ask()) passed += 1;
      return passed;
    };
    return { clock, ask: first?.ask ?? expect.unreachable, fail, flood };
  }

  it('admit together, after what each lets pass at once, exactly the rate of the limit', async () => {
    const { clock, fail, flood } = fleet();
    fail();
    expect(await flood()).toBe(3 * 30);
    let passed = 0;
    for (let at = 0; at < 10 * WINDOW_MS; at += 1_000) {
      clock.advance(1_000);
      passed += await flood();
    }
    expect(passed).toBe(10 * 30);
  });

  it('know what they have admitted before the outage', async () => {
    const { ask, fail } = fleet();
    for (let i = 0; i < 30; i += 1) expect(await ask()).toBe(true);
    fail();
    for (let i = 0; i < 10; i += 1) expect(await ask()).toBe(false);
  });
});
