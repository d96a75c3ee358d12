import { workerShedder } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { StubSignal } from './stubs.js';

describe('options of a worker shedder', () => {
  const signal = new StubSignal();
  const good = { name: 'w', signal, brake: false } as const;

  it('may leave out either loop, and bring the brake along with the signal', () => {
    expect(() => workerShedder(good)).not.toThrow();
    expect(() => workerShedder({ name: 'w', ladder: false, brake: { signal } })).not.toThrow();
    const both = { name: 'own', read: () => undefined, wait: signal };
    expect(() => workerShedder({ name: 'w', signal: both })).not.toThrow();
  });

  it.each<[string, object]>([
    ['no signal', { name: 'w' }],
    ['a signal without wait, and the brake on', { name: 'w', signal }],
    ['neither loop', { name: 'w', ladder: false, brake: false }],
    ['a signal without read', { ...good, signal: { name: 'x' } }],
    ['a signal without a name', { ...good, signal: { read: () => undefined } }],
    ['ladder: true', { ...good, ladder: true }],
    ['ladder: null', { ...good, ladder: null }],
    ['an unknown mode', { ...good, mode: 'on' }],
    ['shedCritical that is no boolean', { ...good, shedCritical: 'yes' }],
    ['a bad hint', { ...good, retryAfter: 'soon' }],
    ['a random number', { ...good, random: 0.5 }],
    ['a clock that is none', { ...good, clock: Date }],
    ['a bad priority', { ...good, priority: [] }],
  ])('must not be %s', (_, options) => {
    expect(() => workerShedder(options as never)).toThrow(/SPW_OPTION_INVALID/);
  });

  it('must have a name', () => {
    expect(() => workerShedder({ ...good, name: '' })).toThrow(/SPW_NAME_INVALID/);
  });
});
