/** Generated traces as data: what happens when, in terms that reach the limits of any rule. */

import { capacityOf, type Op, type Rule } from '@spillway/core/store';
import fc from 'fast-check';
import { periodUs } from './rules.js';

/** How the clock moves before a group. `n` is in units of the kind; `plus` adds some microseconds. */
interface Move {
  readonly kind:
    | 'stay'
    | 'us'
    | 'units'
    | 'eighths'
    | 'boundary'
    | 'wait'
    | 'reset'
    | 'windows'
    | 'back-us'
    | 'back-eighths'
    | 'back-windows'
    | 'year'
    | 'back-year';
  readonly rule: number;
  readonly n: number;
  readonly plus: number;
}

/** How many units to ask for: a number is a percentage of the capacity, `rest` is what remains. */
type CostPick = 'one' | 'zero' | 'rest' | 'above-rest' | 'capacity' | 'over' | 'huge' | number;

export interface StepPick {
  readonly op: Op;
  readonly rule: number;
  readonly key: number;
  readonly cost: CostPick;
  readonly binding: boolean;
  /** With `put`: which earlier grant, counted from the newest. */
  readonly grant: number;
  /** With leases: which of a few leases, often one that is held. */
  readonly lease: number;
  readonly critical: boolean;
}

interface Group {
  readonly move: Move;
  readonly steps: readonly StepPick[];
}

export interface Trace {
  readonly rules: readonly Rule[];
  /** Whether all rules have the same limiter name, so that their keys are the same. */
  readonly meet: boolean;
  readonly startUs: number;
  readonly groups: readonly Group[];
}

const YEAR_US = 365 * 86_400_000_000;
const EARLIEST_US = 500_000_000_000_000;
const LATEST_US = 4_000_000_000_000_000;

function weighted<T>(...choices: readonly (readonly [number, T])[]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })));
}

const moves: fc.Arbitrary<Move> = fc.record({
  kind: weighted<Move['kind']>(
    [14, 'stay'],
    [8, 'us'],
    [10, 'units'],
    [12, 'eighths'],
    [10, 'boundary'],
    [14, 'wait'],
    [5, 'reset'],
    [3, 'windows'],
    [4, 'back-us'],
    [5, 'back-eighths'],
    [2, 'back-windows'],
    [1, 'year'],
    [1, 'back-year'],
  ),
  rule: fc.nat(7),
  n: fc.integer({ min: 1, max: 9 }),
  plus: weighted([3, 0], [2, -1], [1, 1]),
});

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

const steps: fc.Arbitrary<StepPick> = fc.record({
  op: weighted<Op>([20, 'take'], [3, 'look'], [3, 'record'], [4, 'put'], [1, 'reset']),
  rule: fc.nat(7),
  key: fc.nat(2),
  cost: costs,
  binding: weighted([6, true], [1, false]),
  grant: fc.nat(3),
  lease: fc.nat(9),
  critical: weighted([3, false], [1, true]),
});

/** Traces of at most 30 groups, each of at most `width` steps. */
export function traces(
  rules: fc.Arbitrary<readonly Rule[]>,
  width: number,
  meet = false,
): fc.Arbitrary<Trace> {
  return fc.record({
    rules,
    meet: fc.constant(meet),
    startUs: fc.integer({ min: 0, max: 2 ** 40 }).map((us) => 1_767_225_600_000_000 + us),
    groups: fc.array(
      fc.record({ move: moves, steps: fc.array(steps, { minLength: 1, maxLength: width }) }),
      { minLength: 1, maxLength: 30, size: 'max' },
    ),
  });
}

/**
 * Traces of hundreds of groups, most of one unit and a few microseconds apart, so that a log has many entries. They are
 * not shrunk: it would take minutes.
 */
export function longTraces(rule: Rule): fc.Arbitrary<Trace> {
  const move: fc.Arbitrary<Move> = fc.record({
    kind: weighted<Move['kind']>(
      [80, 'us'],
      [10, 'units'],
      [3, 'eighths'],
      [6, 'stay'],
      [2, 'back-us'],
    ),
    rule: fc.constant(0),
    n: fc.integer({ min: 1, max: 3 }),
    plus: fc.constant(0),
  });
  const pick: fc.Arbitrary<StepPick> = fc.record({
    op: weighted<Op>([20, 'take'], [1, 'look'], [2, 'record'], [8, 'put']),
    rule: fc.constant(0),
    key: fc.constant(0),
    cost: weighted<CostPick>([90, 'one'], [1, 'rest'], [1, 'above-rest'], [1, 'capacity'], [4, 1]),
    binding: fc.constant(true),
    grant: fc.nat(150),
    lease: fc.constant(0),
    critical: fc.constant(false),
  });
  const groups = fc.array(fc.record({ move, steps: pick.map((one) => [one]) }), {
    minLength: 300,
    maxLength: 400,
    size: 'max',
  });
  const startUs = fc.constant(1_767_225_600_000_000);
  const meet = fc.constant(false);
  return fc.noShrink(fc.record({ rules: fc.constant([rule]), meet, startUs, groups }));
}

/** The instant to which the clock moves from `nowUs`. `waitUs` and `resetUs` are what the last answer promised. */
export function destination(
  move: Move,
  rules: readonly Rule[],
  nowUs: number,
  waitUs: number,
  resetUs: number,
): number {
  const rule = rules[move.rule % rules.length] as Rule;
  const { limit } = rule;
  const windowUs = periodUs(rule);
  const { n, plus } = move;
  const distance = (): number => {
    switch (move.kind) {
      case 'stay':
        return 0;
      case 'us':
        return n;
      case 'units':
        return Math.floor((n * windowUs) / limit) + plus;
      case 'eighths':
        return Math.floor((n * windowUs) / 8) + plus;
      case 'boundary':
        return windowUs - (nowUs % windowUs) + plus;
      case 'wait':
        return waitUs > 0 ? waitUs + plus : 0;
      case 'reset':
        return resetUs > 0 ? resetUs + plus : 0;
      case 'windows':
        return n * windowUs + plus;
      case 'back-us':
        return -n;
      case 'back-eighths':
        return -Math.floor((n * windowUs) / 8) - plus;
      case 'back-windows':
        return -n * windowUs - plus;
      case 'year':
        return YEAR_US + n;
      case 'back-year':
        return -YEAR_US - n;
    }
  };
  return Math.min(LATEST_US, Math.max(EARLIEST_US, nowUs + distance()));
}

/** How many units a pick asks for, under a rule of which `remaining` units are left. */
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
