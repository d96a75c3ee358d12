/** The suite passes on a correct store. */

import { describe, expect, it } from 'vitest';
import { storeConformance } from '../src/index.js';
import { referenceStore } from './reference-store.js';

describe('the suite on a store that is right', () => {
  const checks = storeConformance({ open: referenceStore });

  for (const { name, run } of checks) it(name, run);

  it('names every check once', () => {
    expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length);
  });
});
