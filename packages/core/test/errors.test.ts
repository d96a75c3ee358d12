/** How errors look where they are printed. */

import { inspect } from 'node:util';
import { isSpillwayError, SpillwayError } from '@spillway/core';
import { describe, expect, it } from 'vitest';

describe('an error of ours', () => {
  it('has no kind unless a store gave it one', () => {
    const plain = new SpillwayError('SPW_LIMIT_INVALID', 'limit must be more');
    expect('kind' in plain).toBe(false);
    expect(inspect(plain)).not.toContain('kind');
    const told = new SpillwayError('SPW_STORE_ERROR', 'no', { kind: 'noperm' });
    expect(inspect(told)).toContain("kind: 'noperm'");
    expect([plain, told].every(isSpillwayError)).toBe(true);
  });
});
