/** @spillway/core/compare: compares a limiter in shadow mode with the limiter that it will replace. */

export {
  type CompareOptions,
  type Comparison,
  compareWith,
  type Divergence,
} from './observe/compare/compare.js';
export type { Cause, Verdict } from './observe/compare/likely-cause.js';
