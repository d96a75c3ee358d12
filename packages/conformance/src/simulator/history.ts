/** The record of a history, which the laws judge. */

import type { Answer, Decision, Step, UnitsEvent } from '@spillway/core';
import type { Execution, Restart } from './network.js';
import type { Plan } from './plan.js';
import type { Load, Told, UsageRecord } from './quotas.js';
import type { Process } from './world.js';

export interface Call {
  readonly process: Process;
  /**
   * The act that made the call. Undefined if the act had already reached its first `await`, or if no act made the call.
   */
  readonly act: number | undefined;
  readonly steps: readonly Step[];
  readonly sentUs: number;
  readonly sentServerUs: number;
  /** How many executions there were before the call. */
  readonly executionsBefore: number;
  answers?: readonly Answer[];
  error?: unknown;
  endUs?: number;
}

/** The outcome of an act. Times are true times, except `startServerUs`, which is by the server's clock. */
export interface Outcome {
  readonly act: number;
  readonly process: Process;
  readonly startUs: number;
  readonly startServerUs: number;
  endUs?: number;
  decisions?: readonly Decision[];
  allowed?: boolean;
  /** For a refund, how often its decision has been refunded so far. */
  refunds?: number;
  /** For a request with a meter, the units added so far. */
  added?: number;
  abortedUs?: number;
  /** For a request with a meter, whether its end was reported. */
  hasEnded?: boolean;
  response?: { readonly status: number; readonly body: string };
  error?: unknown;
}

/** A handler that ran under an idempotency key. */
export interface Run {
  readonly id: string;
  readonly act: number;
  readonly process: Process;
  readonly startUs: number;
  endUs?: number;
  status?: number;
}

export interface Units {
  readonly process: Process;
  readonly kind: UnitsEvent['kind'];
  readonly units: number;
}

/** The units spent per key, as the store has them when all processes have finished. */
type Spent = ReadonlyMap<string, number>;

interface Quotas {
  readonly records: readonly UsageRecord[];
  readonly told: readonly Told[];
  readonly loads: readonly Load[];
  /** The counts per key at the end of the history, after two additional uses of each key. */
  readonly counts: ReadonlyMap<
    string,
    { readonly startUs: number; readonly endUs: number; readonly used: number }
  >;
}

/** A job that a shaper started. */
export interface Start {
  readonly process: Process;
  readonly act: number;
  readonly key: string;
  readonly atUs: number;
  readonly serverUs: number;
  endUs?: number;
}

export interface History {
  readonly plan: Plan;
  readonly processes: readonly Process[];
  readonly calls: readonly Call[];
  readonly executions: readonly Execution[];
  readonly restarts: readonly Restart[];
  readonly outcomes: readonly Outcome[];
  readonly runs: readonly Run[];
  readonly starts: readonly Start[];
  readonly units: readonly Units[];
  /** Undefined if there were no `spend` acts, or if the store did not answer. */
  readonly spent: Spent | undefined;
  /** Undefined without `quota` acts, or if the store did not answer. */
  readonly quotas: Quotas | undefined;
  /** How many keys the server still has after all keys should have expired. */
  readonly keysAtEnd: number;
  /** Whether processes called the server again once it was back, and used its answers. */
  readonly recovered: boolean;
}
