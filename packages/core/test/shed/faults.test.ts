/** Faults of a worker shedder: signals without a reading, and unknown classes. */

import {
  createGuard,
  type Fault,
  type Signal,
  type WorkerShedderOptions,
  workerShedder,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { expect, it } from 'vitest';
import { request, StubSignal } from './stubs.js';

function setUp(options: Partial<WorkerShedderOptions>) {
  const faults: Fault[] = [];
  const clock = new ManualClock();
  const shedder = workerShedder({ name: 'workers', ladder: false, clock, ...options });
  const guard = createGuard(shedder, { onFault: (fault) => void faults.push(fault) });
  return { shedder, guard, faults };
}

const signalOf = (name: string, read: () => unknown): { signal: Signal } => ({
  signal: { name, read: read as Signal['read'] },
});

it.each<[string, () => unknown, string?]>([
  ['a number', () => 1.5, 'signal "wait" returned 1.5'],
  ['no age', () => ({ value: 3 })],
  ['a text for a number', () => ({ value: '3', ageMs: 0 })],
  [
    'a promise',
    async () => ({ value: 3, ageMs: 0 }),
    'signal "wait" returned a promise: it must return the value itself',
  ],
  ['null', () => null],
  ['a span that is none', () => ({ value: 3, ageMs: 0, spanMs: Number.NaN })],
  [
    'an error',
    () => {
      throw new Error('mine');
    },
    'mine',
  ],
])('a signal that gives %s is told, and nothing is shed', (_, read, message) => {
  const { guard, faults } = setUp({ brake: signalOf('wait', read) });
  for (let i = 0; i < 3; i += 1) {
    expect(guard.admit(request('GET'))).toMatchObject({ allowed: true });
  }
  expect(faults[0]).toMatchObject({ limiter: 'workers', source: 'signal' });
  if (message) expect(String(faults[0]?.error)).toContain(message);
  expect(faults).toHaveLength(1); // it is read ten times a second
});

it('those of the ladder and of the brake are told, also if they failed before anybody could be told', () => {
  const broken = () => ({ value: Number.NaN, ageMs: 0 });
  const { shedder, guard, faults } = setUp({
    ladder: signalOf('one', broken),
    brake: signalOf('other', broken),
  });
  shedder.decide(request('GET'));
  guard.admit(request('GET'));
  expect(faults.map(({ source, error }) => `${source}: ${error}`)).toEqual([
    'signal: TypeError: signal "one" returned [object Object]',
    'signal: TypeError: signal "other" returned [object Object]',
  ]);
});

it('a signal that has no reading is not told', () => {
  const { guard, faults } = setUp({ brake: signalOf('wait', () => undefined) });
  guard.admit(request('GET'));
  expect(faults).toEqual([]);
});

it('a class that is not listed is told, and the method decides', () => {
  const brake = { signal: new StubSignal('wait') };
  const { guard, faults } = setUp({ brake, priority: () => 'Critical' });
  expect(guard.admit(request('POST'))).toMatchObject({ decisions: [{ priority: 'post' }] });
  expect(faults).toMatchObject([
    { source: 'priority', error: { message: 'priority returned "Critical"' } },
  ]);
});
