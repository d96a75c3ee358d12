/** A decision can be refunded only where it was charged, not through a limit of the same name in another store. */

import { createLimiter, createLimiters, memoryStore } from '@spillway/core';
import { algorithmByName } from '@spillway/core/algorithms';
import { describe, expect, it } from 'vitest';

describe.each([
  'token-bucket',
  'fixed-window',
  'sliding-window-counter',
  'sliding-window-log',
] as const)('%s', (algorithm) => {
  const rule = { limit: 5, window: '1h', algorithm: algorithmByName(algorithm) } as const;

  it('createLimiter', () => {
    const here = createLimiter({ ...rule, name: 'calls' }, { store: memoryStore() });
    const there = createLimiter({ ...rule, name: 'calls' }, { store: memoryStore() });
    there.consume('ada', { cost: 5 });
    const charged = here.consume('ada', { cost: 5 });
    expect(there.refund(charged)).toBe(false);
    expect(there.consume('ada').allowed).toBe(false);
    // It was not refunded yet, so it still can be.
    expect(here.refund(charged)).toBe(true);
  });

  it('createLimiters', () => {
    const here = createLimiters({ calls: rule }, { store: memoryStore() });
    const there = createLimiters({ calls: rule }, { store: memoryStore() });
    there.consume({ calls: 'ada' }, { cost: 5 });
    const charged = here.consume({ calls: 'ada' }, { cost: 5 });
    expect(there.refund(charged)).toBe(false);
    expect(there.consume({ calls: 'ada' }).allowed).toBe(false);
    expect(here.refund(charged)).toBe(true);
  });
});
