/** Spillway's conformance kit: checks that a store decides exactly, and that all adapters behave alike. */

export { adapterConformance } from './adapter/suite.js';
export type { AdapterOptions, AdapterTarget } from './adapter/target.js';
export {
  type Check,
  type ConformanceOptions,
  DEFAULT_SEED,
  type Harness,
  type OpenStore,
} from './harness.js';
export { Oracle, type Subject, type Verdict } from './oracle.js';
export { storeConformance } from './suite.js';
