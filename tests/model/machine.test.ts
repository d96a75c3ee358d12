/** The workers of one machine, of which one has less to do: with a shared signal they shed together. */

import { describe, expect, it } from 'vitest';
import { type MachineRun, runMachine } from './machine.js';
import { SEEDS } from './scenarios.js';

const UNEVEN = { loads: [1.05, 1.05, 1.05, 0.6], seconds: 240, brake: false } as const;

function spread(values: readonly number[]): number {
  return Math.max(...values) - Math.min(...values);
}

const amountsAt = ({ amounts }: MachineRun, second: number) =>
  amounts[second - 1] as readonly number[];

describe.each(SEEDS)('four workers, one with little to do (seed %i)', (seed) => {
  it('shed alike from the first rejection on, if they read the machine', () => {
    const run = runMachine({ ...UNEVEN, ladder: 'machine', seed });
    for (const amounts of run.amounts) expect(spread(amounts)).toBeLessThan(0.06);
    expect(Math.min(...amountsAt(run, 200))).toBeGreaterThan(0.15);
  });

  it('shed as if each were alone, if each reads itself', () => {
    const run = runMachine({ ...UNEVEN, ladder: 'own', seed });
    const [first, , , last] = amountsAt(run, 200);
    expect(first).toBeGreaterThan(0.15);
    expect(last).toBe(0);
  });

  it('go on together when one of them is killed', () => {
    const run = runMachine({ ...UNEVEN, ladder: 'machine', killedAt: 100, seed });
    for (const amounts of run.amounts) expect(spread(amounts.slice(0, 3))).toBeLessThan(0.06);
    // The three that are left are busier than the four.
    const four = runMachine({ ...UNEVEN, ladder: 'machine', seed });
    expect(amountsAt(run, 110)[0]).toBeGreaterThan(amountsAt(four, 110)[0] as number);
  });

  it('keep what is critical, with a brake of their own beside the ladder of the machine', () => {
    const run = runMachine({ ...UNEVEN, brake: true, ladder: 'machine', seed });
    for (const { offered, served } of run.workers) {
      expect(served.critical / offered.critical).toBeGreaterThan(0.98);
    }
  });
});
