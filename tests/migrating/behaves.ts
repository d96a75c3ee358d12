/**
 * Runs the behaviours of a package against that package, and against Spillway behind the package's options, in virtual
 * time.
 */

import { describe, expect, it } from 'vitest';
import type { Suite } from './cases.js';

export function behaves<Subject>({ peer, cases, theirs, ours }: Suite<Subject>): void {
  it('tells each behaviour once', () => {
    expect(new Set(cases.map(({ does }) => does)).size).toBe(cases.length);
  });

  for (const { does, run, theirs: there, differs } of cases) {
    describe(does, () => {
      it(`is what ${peer} does`, async () => {
        expect(await run(await theirs())).toEqual(there);
      });

      it(differs ? 'is another with Spillway' : 'is the same with Spillway', async () => {
        const here = await run(await ours());
        expect(here).toEqual(differs ? differs.ours : there);
        if (differs) expect(here).not.toEqual(there);
      });
    });
  }
}
