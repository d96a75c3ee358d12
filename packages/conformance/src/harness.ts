/** What the kit needs of a store, and what it gives back: named checks for any test runner. */

import type { Store } from '@spillway/core';

/** A store under test, empty, whose clock stands still until it is moved. */
export interface OpenStore {
  readonly store: Store;
  /** Moves the store's clock to an instant in microseconds since the epoch, backwards too. */
  setTimeUs(us: number): void | Promise<void>;
  close?(): void | Promise<void>;
}

/** Opens stores for the checks, one each. */
export interface Harness {
  open(): OpenStore | Promise<OpenStore>;
}

export interface ConformanceOptions {
  /** Generated traces per check. Default: 100. */
  readonly runs?: number;
  /** Where generation starts. Default: {@link DEFAULT_SEED}, so that every run of the suite is the same run. */
  readonly seed?: number;
}

/** One sentence about a store, and its proof: `run` rejects with a readable error if the store breaks it. */
export interface Check {
  readonly name: string;
  run(): Promise<void>;
}

/** The committed seed. */
export const DEFAULT_SEED = 20_260_101;

/** The options with their defaults. */
export interface Settings {
  readonly runs: number;
  readonly seed: number;
}
