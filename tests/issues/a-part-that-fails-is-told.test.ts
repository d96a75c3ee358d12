/** A group over several parts of a store: failures of all parts are reported, not only that of the first. */

import { createLimiter, memoryStore, SpillwayError, type Step, type Store } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { expect, it } from 'vitest';

/** The part `b` answers that a right is missing: an error that opens no breaker. */
function halfDenied(): Store {
  const memory = memoryStore();
  return remoteStore({
    sync: false,
    domainOf: ({ key }: Step) => key.slice(0, 1),
    apply: async (steps: readonly Step[]) => {
      if (steps.some(({ key }) => key.startsWith('b'))) {
        throw new SpillwayError('SPW_STORE_ERROR', 'NOPERM', { kind: 'noperm' });
      }
      return memory.apply(steps);
    },
  });
}

it.each([
  ['the first', ['b1', 'a1']],
  ['a later', ['a1', 'b1']],
])('tells of %s key whose part failed', async (_, keys) => {
  const lines: string[] = [];
  const logger = { warn: (line: string) => void lines.push(line) };
  const options = { store: halfDenied(), logger };
  const limiter = createLimiter({ name: 'api', limit: 5, window: '1h' }, options);
  const { decisions } = await limiter.consumeAll(keys);
  expect(decisions.map(({ outcome }) => outcome)).toContain('error');
  expect(lines).toHaveLength(1);
});
