/** The interface of the kit: what it requires of a store, and the named checks that it returns for any test runner. */

import type { Store } from '@spillway/core';

/** A store under test. It is empty, and its clock stands still until a check moves it. */
export interface OpenStore {
  readonly store: Store;
  /** Sets the store's clock to an instant in microseconds since the epoch. The clock may also go back. */
  setTimeUs(us: number): void | Promise<void>;
  close?(): void | Promise<void>;
}

/** Opens a store for each check. */
export interface Harness {
  open(): OpenStore | Promise<OpenStore>;
}

/** Options of {@link storeConformance}. */
export interface ConformanceOptions {
  /** How many traces each generated check runs. Default: 100. */
  readonly runs?: number;
  /** The seed of the generator. Default: {@link DEFAULT_SEED}, which makes every run of the suite the same. */
  readonly seed?: number;
}

/** A sentence about a store or service. `run` rejects with a readable error if the sentence is false. */
export interface Check {
  readonly name: string;
  run(): Promise<void>;
}

/** The default seed of generated checks. */
export const DEFAULT_SEED = 20_260_101;

export interface Settings {
  readonly runs: number;
  readonly seed: number;
}
