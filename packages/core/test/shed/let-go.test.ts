/** A signal lives as long as the process. It must not retain shedders that tests and reloads have made and dropped. */

import { type Signal, workerShedder } from '@spillway/core';
import { eventLoopWaitSignal } from '@spillway/core/node';
import { expect, it, vi } from 'vitest';
import { collectGarbage } from '../fetch/fetch-set-up.js';
import { request } from './stubs.js';

function signalWith(watch: NonNullable<Signal['watch']>): Signal {
  return { name: 'own', read: () => ({ value: 0, ageMs: 0 }), watch };
}

const MADE = 10;

/** A separate function, so no frame of a test retains the last one. */
function makeOne(signal: Signal, registry: FinalizationRegistry<string>): void {
  const shedder = workerShedder({ name: 'workers', ladder: false, brake: { signal } });
  shedder.decide(request('GET'));
  registry.register(shedder, '');
}

/** Makes shedders that watch the signal, and drops them. Resolves when all were collected, or never will be. */
async function letGo(signal: Signal): Promise<number> {
  let gone = 0;
  // Not by a WeakRef, which retains its target until the end of the turn once it was read.
  const registry = new FinalizationRegistry<string>(() => {
    gone += 1;
  });
  for (let i = 0; i < MADE; i += 1) makeOne(signal, registry);
  await collectGarbage(() => gone === MADE);
  return gone;
}

it('a signal holds no shedder, and its calls are ended where it lets them', async () => {
  const listeners = new Set<() => void>();
  const signal = signalWith((listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  });
  const kept = workerShedder({ name: 'kept', ladder: false, brake: { signal } });
  kept.decide(request('GET'));
  expect(await letGo(signal)).toBe(MADE);
  expect(listeners.size).toBe(MADE + 1);
  for (const listener of listeners) listener();
  expect(listeners.size).toBe(1);
  expect(kept.brakeFraction).toBe(0);
});

it('a signal that ends no calls holds no shedder either', async () => {
  const listeners: (() => void)[] = [];
  const signal = signalWith((listener) => void listeners.push(listener));
  expect(await letGo(signal)).toBe(MADE);
  for (const listener of listeners) expect(listener).not.toThrow();
});

it('a signal that is watched by an async function, which fails, ends no process', async () => {
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  const signal = signalWith(async () => {
    throw new Error('no data yet');
  });
  const shedder = workerShedder({ name: 'workers', ladder: false, brake: { signal } });
  shedder.decide(request('GET'));
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

it('the signal of the event loop ends calls, those of one listener only', async () => {
  const signal = eventLoopWaitSignal({ target: '20ms' });
  const told = vi.fn();
  const first = signal.watch(told);
  signal.watch(told);
  await expect.poll(() => told.mock.calls.length).toBeGreaterThan(1);
  first();
  const before = told.mock.calls.length;
  await new Promise<void>((resolve) => void signal.watch(resolve));
  expect(told.mock.calls.length - before).toBe(1);
  signal.close();
});
