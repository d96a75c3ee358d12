/**
 * Moves the clock before each group of a generated trace, mostly by times that matter to the rules, such as a window.
 */

import type { Rule } from '@spillway/core/store';
import fc from 'fast-check';
import { weighted } from './property.js';
import { periodUs } from './rules.js';

/** How the clock moves before a group. The unit of `n` depends on the kind; `plus` is in microseconds. */
export interface Move {
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

const YEAR_US = 365 * 86_400_000_000;
const EARLIEST_US = 500_000_000_000_000;
const LATEST_US = 4_000_000_000_000_000;

export const moves: fc.Arbitrary<Move> = fc.record({
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

export const nearMoves: fc.Arbitrary<Move> = fc.record({
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
