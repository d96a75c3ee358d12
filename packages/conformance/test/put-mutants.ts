/** Stores that are wrong in one way each about a `put` of fewer, or of more, units than were granted. */

import type { Step } from '@spillway/core';
import { type Mutant, mutant, steps } from './mutant.js';

const IN_TURNS = 'gives back a grant in several puts';
const AT_MOST = 'gives back at most what was granted';

/** A store that changes each put that has a receipt, under the rules of `machines`. */
function puts(name: string, caughtBy: string, change: (step: Step, units: number) => Step): Mutant {
  return steps(name, caughtBy, (step) =>
    step.op === 'put' && step.receipt && step.rule.machine !== 'leases'
      ? change(step, step.receipt.units)
      : step,
  );
}

function withUnits(step: Step, units: number): Step {
  return { ...step, ...(step.receipt && { receipt: { ...step.receipt, units } }) };
}

export const putMutants: readonly Mutant[] = [
  puts('gives back more than was granted', AT_MOST, (step) =>
    withUnits(step, Number.MAX_SAFE_INTEGER),
  ),
  puts('gives back more than the receipt says of one instant', 'gives back to a log what', (step) =>
    withUnits(step, Number.MAX_SAFE_INTEGER),
  ),
  puts('gives back nothing where more is asked than was granted', AT_MOST, (step, units) =>
    step.cost > units ? withUnits(step, 0) : step,
  ),
  puts('gives back nothing where less is asked than was granted', IN_TURNS, (step, units) =>
    step.cost < units ? withUnits(step, 0) : step,
  ),
  puts('gives back the whole grant whatever is asked', IN_TURNS, (step, units) =>
    step.cost < units ? { ...step, cost: units } : step,
  ),
  puts('gives back the whole grant a while later', 'gives back some of', (step, units) =>
    step.cost < units ? { ...step, cost: units } : step,
  ),
  puts('gives back a unit for a receipt of none', AT_MOST, (step, units) =>
    withUnits(step, Math.max(1, units)),
  ),
  puts('removes an entry of a log whatever is asked', 'keeps the rest of an entry', (step) =>
    step.rule.machine === 'log' ? withUnits({ ...step, cost: 1e9 }, 1e9) : step,
  ),
  puts('gives back to a bucket what has refilled', 'gives back to a bucket no more', (step) =>
    step.receipt && step.rule.machine === 'bucket'
      ? { ...step, receipt: { ...step.receipt, atUs: step.receipt.atUs + 1_000_000 } }
      : step,
  ),
  puts(
    'gives back the whole grant whatever is asked (in a generated trace)',
    'replays fixed-window',
    (step, units) => (step.cost < units ? { ...step, cost: units } : step),
  ),
  mutant(
    'gives back nothing beside a put of nothing',
    'gives back a grant beside',
    (right, group) =>
      right.apply(
        group.some(({ op, cost }) => op === 'put' && cost === 0)
          ? group.map((step) => (step.op === 'put' ? { ...step, op: 'look' } : step))
          : group,
      ),
  ),
  steps('gives back no permit for a cost above 1', 'gives back one permit', (step) =>
    step.op === 'put' && step.rule.machine === 'leases' && step.cost > 1
      ? { ...step, op: 'look' }
      : step,
  ),
];
