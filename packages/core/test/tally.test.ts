/** A tally: what it counts, under which labels. */

import {
  concurrencyLimit,
  createGuard,
  createLimiter,
  createLimiters,
  memoryStore,
  rateLimit,
} from '@spillway/core';
import { Tally } from '@spillway/core/adapter';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { setUp } from './guard-set-up.js';

describe('a tally', () => {
  it('keeps apart what was refused for different reasons', () => {
    const tally = new Tally();
    const cost = ({ path }: { path: string }) => (path === '/big' ? 3 : 1);
    const { admit } = setUp(rateLimit({ name: 'two', limit: 2, window: '1h', cost }), {
      observers: [tally],
    });
    for (const path of ['/big', '/', '/', '/', '/big']) admit({ path });
    expect(tally.decisions()).toEqual([
      count({ outcome: 'denied', reason: 'never' }, 2),
      count({ outcome: 'allowed', reason: '' }, 2),
      count({ outcome: 'denied', reason: 'rate' }, 1),
    ]);
  });

  it('counts faults by where they come from', () => {
    const tally = new Tally();
    const broken = () => {
      throw new Error('mine');
    };
    const limiter = rateLimit({ name: 'two', limit: 2, window: '1h', key: broken, cost: broken });
    const { admit } = setUp(limiter, { observers: [tally] });
    admit();
    admit();
    expect(tally.faults()).toEqual([
      { labels: { limiter: 'two', source: 'key' }, value: 2 },
      { labels: { limiter: 'two', source: 'cost' }, value: 2 },
    ]);
  });

  it('adds up what overflowed in the memory stores of its guards, each store once', async () => {
    const tally = new Tally();
    const store = memoryStore({ maxEntries: 1 });
    const limiter = rateLimit({ name: 'two', limit: 2, window: '1h' });
    const guards = [1, 2].map(() => createGuard(limiter, { store, observers: [tally] }));
    expect(tally.overflowed).toBe(0);
    for (const [i, guard] of [...guards, ...guards].entries()) {
      await guard.admit(request({ clientIp: `203.0.113.${i}` }));
    }
    expect(tally.overflowed).toBe(3);
    tally.watch({ stores: [{ overflowed: 4 }, store] });
    expect(tally.overflowed).toBe(7);
  });

  it('keeps what overflowed, but not every store, of guards that are made without end', () => {
    const tally = new Tally();
    for (let i = 0; i < 5_000; i += 1) tally.onStore({ overflowed: 1 });
    expect(tally.overflowed).toBe(5_000);
    expect((tally as unknown as { stores: Set<unknown> }).stores.size).toBe(1_000);
  });

  it('counts once what overflowed in a store that it dropped, and that a new guard has', () => {
    const tally = new Tally();
    const store = { overflowed: 5 };
    tally.onStore(store);
    for (let i = 0; i < 1_000; i += 1) tally.onStore({ overflowed: 0 });
    expect(tally.overflowed).toBe(5);
    store.overflowed = 7;
    tally.onStore(store);
    expect(tally.overflowed).toBe(7);
    for (let i = 0; i < 1_000; i += 1) tally.onStore({ overflowed: 0 });
    expect(tally.overflowed).toBe(7);
  });

  it('counts once for a guard, a limiter and limiters that list it twice', () => {
    const tally = new Tally();
    const observers = [tally, tally];
    const { admit } = setUp(rateLimit({ name: 'two', limit: 2, window: '1h' }), { observers });
    admit();
    createLimiter({ name: 'two', limit: 2, window: '1h' }, { observers }).consume('ada');
    createLimiters({ two: { limit: 2, window: '1h' } }, { observers }).consume({ two: 'ada' });
    expect(tally.decisions()).toEqual([count({ outcome: 'allowed', reason: '' }, 3)]);
  });

  it('shows the highest of several signals with one name', () => {
    const tally = new Tally();
    const signal = (name: string, value: number) => ({ name, read: () => ({ value, ageMs: 0 }) });
    const silent = { name: 'pool', read: () => undefined };
    tally.watch({ signals: [silent, signal('pool', 0.5), signal('pool', 0.2), signal('cpu', 1)] });
    expect(tally.signalValues()).toEqual([
      { labels: { signal: 'pool' }, value: 0.5 },
      { labels: { signal: 'cpu' }, value: 1 },
    ]);
  });

  it('reads the permits that are held when it is asked, each guard once', () => {
    const tally = new Tally();
    const { guard, admit } = setUp(concurrencyLimit({ name: 'at-once', limit: 2 }));
    expect(tally.permitsInProgress).toBeUndefined();
    tally.watch({ guards: [guard] });
    tally.watch({ guards: [guard] });
    const admission = admit();
    admit();
    expect(tally.permitsInProgress).toBe(2);
    admission.release({ status: 200 });
    expect(tally.permitsInProgress).toBe(1);
  });

  it('adds up the jobs of shapers with one name, and shows the worst of such shedders', () => {
    const tally = new Tally();
    const [one, other] = [
      { name: 'mails', waiting: 5, running: 2 },
      { name: 'mails', waiting: 1, running: 0 },
    ];
    const shedders = [0.7, 0.1].map((value) => {
      return { name: 'workers', shedAmount: value, brakeFraction: value / 2 };
    });
    tally.watch({ shapers: [one, other, { ...one, name: 'calls' }], shedders });
    expect(tally.jobsWaiting()).toEqual([sample('mails', 6), sample('calls', 5)]);
    expect(tally.jobsRunning()).toEqual([sample('mails', 2), sample('calls', 2)]);
    expect(tally.shedAmounts()).toEqual([sample('workers', 0.7)]);
    expect(tally.brakeFractions()).toEqual([sample('workers', 0.35)]);
  });
});

function sample(limiter: string, value: number) {
  return { labels: { limiter }, value };
}

function count(labels: { outcome: string; reason: string }, value: number) {
  return { labels: { limiter: 'two', priority: '', plan: '', ...labels }, value };
}
