/** Generated traces as data. Most costs are relative to the capacity of the rule, and most times to its period. */

import { capacityOf, MAX_HOLD_US, type Op, type Rule } from '@spillway/core/store';
import fc from 'fast-check';
import { type Move, moves, nearMoves } from './moves.js';
import { weighted } from './property.js';
import { periodUs } from './rules.js';

/** How many units to take. A number is a percentage of the capacity; `rest` takes all remaining units. */
type CostPick = 'one' | 'zero' | 'rest' | 'above-rest' | 'capacity' | 'over' | 'huge' | number;

type GivenPick = 'whole' | 'one' | 'half' | 'more' | 'huge';

export interface StepPick {
  readonly op: Op;
  readonly rule: number;
  readonly key: number;
  readonly cost: CostPick;
  /** Units charged in addition to the cost, even if the limit has no room for them. Only for rules with debt. */
  readonly owed: number;
  readonly binding: boolean;
  /** Whether to set `together` on a take under a shaper's rule, so it starts together with other takes of its group. */
  readonly together: boolean;
  /** The grant that a `put` refunds, counted back from the newest. It also selects the billing period of a step. */
  readonly grant: number;
  readonly given: GivenPick;
  /** The length of a `hold` in eighths of the rule's period; 0 is one microsecond, 9 is more than a day. */
  readonly hold: number;
  /**
   * Selects one of a few leases, often a held one. For claims, it selects the id, and `grant` the owner. Together with
   * `grant`, it also selects distinct items.
   */
  readonly lease: number;
  readonly critical: boolean;
  /** Whether to mark the claim of the step as done, regardless of `op`, unless that is `reset`. */
  readonly done: boolean;
}

interface Group {
  readonly move: Move;
  readonly steps: readonly StepPick[];
}

export interface Trace {
  readonly rules: readonly Rule[];
  /** Whether all rules share one limiter name, so steps under different rules use the same keys. */
  readonly meet: boolean;
  readonly startUs: number;
  readonly groups: readonly Group[];
}

const costs: fc.Arbitrary<CostPick> = fc.oneof(
  weighted<CostPick>(
    [24, 'one'],
    [4, 'zero'],
    [8, 'rest'],
    [8, 'above-rest'],
    [6, 'capacity'],
    [3, 'over'],
    [2, 'huge'],
  ),
  fc.integer({ min: 1, max: 120 }),
);

const givens = weighted<GivenPick>([6, 'whole'], [3, 'one'], [3, 'half'], [1, 'more'], [1, 'huge']);

const steps: fc.Arbitrary<StepPick> = fc.record({
  op: weighted<Op>([20, 'take'], [6, 'look'], [3, 'record'], [4, 'put'], [1, 'hold'], [1, 'reset']),
  rule: fc.nat(7),
  key: fc.nat(2),
  cost: costs,
  owed: weighted([6, 0], [2, 1], [3, 7], [1, 90], [1, 2 ** 31]),
  binding: weighted([6, true], [1, false]),
  together: weighted([2, false], [1, true]),
  grant: fc.nat(3),
  given: givens,
  hold: weighted([1, 0], [3, 1], [2, 5], [1, 8], [1, 9]),
  lease: fc.nat(9),
  critical: weighted([3, false], [1, true]),
  done: weighted([5, false], [1, true]),
});

interface Shape {
  readonly width: number;
  readonly meet?: boolean;
}

export function traces(rules: fc.Arbitrary<readonly Rule[]>, shape: Shape): fc.Arbitrary<Trace> {
  const { width, meet = false } = shape;
  return fc.record({
    rules,
    meet: fc.constant(meet),
    startUs: fc.integer({ min: 0, max: 2 ** 40 }).map((us) => 1_767_225_600_000_000 + us),
    groups: fc.array(
      fc.record({
        move: moves,
        steps: fc.array(steps, { minLength: 1, maxLength: width }),
      }),
      { minLength: 1, maxLength: 30, size: 'max' },
    ),
  });
}

/**
 * Traces of hundreds of groups, which fill a log with many entries. Most groups are microseconds apart and take a few
 * units. Such traces are not shrunk, because that would take minutes.
 */
export function longTraces(rule: Rule): fc.Arbitrary<Trace> {
  const pick: fc.Arbitrary<StepPick> = fc.record({
    op: weighted<Op>([20, 'take'], [1, 'look'], [2, 'record'], [8, 'put']),
    rule: fc.constant(0),
    key: fc.constant(0),
    cost: weighted<CostPick>(
      [150, 'one'],
      [75, 1],
      [1, 'rest'],
      [1, 'above-rest'],
      [1, 'capacity'],
    ),
    owed: fc.constant(0),
    binding: fc.constant(true),
    together: fc.constant(false),
    grant: fc.nat(150),
    given: weighted([4, 'whole'], [4, 'half'], [2, 'one'], [1, 'more']),
    hold: fc.constant(0),
    lease: fc.constant(0),
    critical: fc.constant(false),
    done: fc.constant(false),
  });
  const group = fc.record({
    move: nearMoves,
    steps: pick.map((one) => [one]),
  });
  const groups = fc.array(group, {
    minLength: 300,
    maxLength: 400,
    size: 'max',
  });
  const startUs = fc.constant(1_767_225_600_000_000);
  const meet = fc.constant(false);
  return fc.noShrink(fc.record({ rules: fc.constant([rule]), meet, startUs, groups }));
}

export function costOf(pick: CostPick, rule: Rule, remaining: number): number {
  const capacity = capacityOf(rule);
  switch (pick) {
    case 'zero':
      return 0;
    case 'one':
      return 1;
    case 'rest':
      return remaining;
    case 'above-rest':
      return remaining + 1;
    case 'capacity':
      return capacity;
    case 'over':
      return capacity + 1;
    case 'huge':
      return Number.MAX_SAFE_INTEGER;
    default:
      return Math.ceil((capacity * pick) / 100);
  }
}

export function heldOf(pick: number, rule: Rule): number {
  if (pick === 9) return MAX_HOLD_US + 1;
  return pick === 0 ? 1 : Math.min(Math.floor((periodUs(rule) * pick) / 8), MAX_HOLD_US);
}

export function givenOf(pick: GivenPick, granted: number): number {
  switch (pick) {
    case 'whole':
      return granted;
    case 'one':
      return 1;
    case 'half':
      return Math.ceil(granted / 2);
    case 'more':
      return granted + 1;
    case 'huge':
      return Number.MAX_SAFE_INTEGER;
  }
}
