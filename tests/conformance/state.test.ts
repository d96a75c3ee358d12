import { storeConformance } from '@spillway/conformance';
import { stateStore } from '@spillway/core/store';
import { describe, it } from 'vitest';
import { expectSameAsMemory } from './same-as-memory.js';
import { MapBackend, RetryingBackend, SlowBackend } from './state-backends.js';

describe.each([
  ['a map', MapBackend, 100],
  ['a map that decides twice', RetryingBackend, 30],
  ['a map that takes its time', SlowBackend, 10],
] as const)('the state store over %s', (_, Backend, runs) => {
  const open = () => {
    const backend = new Backend();
    const setTimeUs = (us: number) => {
      backend.clock.setUs(us);
      backend.clean();
    };
    return { store: stateStore(backend), setTimeUs };
  };
  for (const check of storeConformance({ open }, { runs })) it(check.name, check.run);
});

describe('the memory store and the state store', () => {
  it('answer the same, bit for bit, to every trace', () =>
    expectSameAsMemory((clock) => stateStore(new MapBackend(clock))));
});
