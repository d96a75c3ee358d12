/** One group in flight to Redis. */

import type { Answer, Step } from '@spillway/core';

/** A group without repeated keys, and the functions that settle its caller's promise. */
export interface Group {
  readonly steps: readonly Step[];
  readonly redisKeys: string[];
  /** The hash slot of all keys; 0 unless on Cluster. */
  readonly slot: number;
  /** The deadline by the process's clock; Infinity if there is none. */
  readonly deadlineUs: number;
  /** True for background work that is never resent. Such a group shares calls only with groups of the same deadline. */
  readonly isApart: boolean;
  readonly resolve: (answers: readonly Answer[]) => void;
  readonly reject: (error: Error) => void;
}

export function failAll(groups: readonly Group[], error: Error): void {
  for (const group of groups) group.reject(error);
}
