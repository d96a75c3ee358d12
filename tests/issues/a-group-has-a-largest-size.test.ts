/** A list of keys as long as a client likes was one call: it timed out, or failed unsent, passed uncharged and opened the breaker for all. */

import { createLimiter, isSpillwayError, memoryStore, type Step, type Store } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';

const keys = (amount: number) => Array.from({ length: amount }, (_, i) => `recipient ${i}`);

function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return isSpillwayError(error) ? error.code : String(error);
  }
  return 'none';
}

describe.each(['memory', 'one that answers later'])('on a store: %s', (kind) => {
  function setUp() {
    const memory = memoryStore();
    const groups: number[] = [];
    const apply = (steps: readonly Step[]) => {
      groups.push(steps.length);
      return memory.apply(steps);
    };
    const later: Store = remoteStore({ sync: false, apply: async (steps) => apply(steps) });
    const store: Store = kind === 'memory' ? remoteStore({ sync: true, apply }) : later;
    const sms = createLimiter({ name: 'sms', limit: 2, window: '1h' }, { store });
    return { sms, groups };
  }

  it('a group of 1,000 keys is decided', async () => {
    const { sms, groups } = setUp();
    expect((await sms.consumeAll(keys(1_000))).allowed).toBe(true);
    expect((await sms.record(keys(1_000))).allowed).toBe(true);
    expect((await sms.consumeAll(keys(1_000))).allowed).toBe(false);
    expect(groups).toEqual([1_000, 1_000, 1_000]);
  });

  it('one key more throws at once, and asks nothing', () => {
    const { sms, groups } = setUp();
    for (const amount of [1_001, 50_000]) {
      expect(codeOf(() => sms.consumeAll(keys(amount)))).toBe('SPW_GROUP_TOO_LARGE');
      expect(codeOf(() => sms.record(keys(amount)))).toBe('SPW_GROUP_TOO_LARGE');
    }
    expect(groups).toEqual([]);
  });

  it('the same key many times is one', async () => {
    const { sms } = setUp();
    const group = await sms.consumeAll(Array.from({ length: 5_000 }, () => 'ada'));
    expect(group.allowed).toBe(false); // 5,000 units
    expect(group.decisions).toHaveLength(5_000);
  });
});
