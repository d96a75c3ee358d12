/** Spillway's conformance kit: proves that a store decides exactly. */

export {
  type Check,
  type ConformanceOptions,
  DEFAULT_SEED,
  type Harness,
  type OpenStore,
} from './harness.js';
export { Oracle, type Subject, type Verdict } from './oracle.js';
export { storeConformance } from './suite.js';
