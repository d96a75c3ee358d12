/** @spillway/core/compare: compares a limiter in shadow mode with the limiter that it will replace. */

export {
  type CompareOptions,
  type Comparison,
  compareWith,
  type Divergence,
} from './observe/compare/compare.js';
export type { Cause } from './observe/compare/likely-cause.js';
export type { Verdict } from './observe/compare/verdict.js';
