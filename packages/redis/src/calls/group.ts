import type { Answer, Step } from '@spillway/core';

export interface Group {
  readonly steps: readonly Step[];
  readonly redisKeys: string[];
  /** The hash slot of all keys; 0 unless on Cluster. */
  readonly slot: number;
  /** By the process's clock; Infinity if there is no deadline. */
  readonly deadlineUs: number;
  /** True for background work that is never resent. */
  readonly isApart: boolean;
  readonly resolve: (answers: readonly Answer[]) => void;
  readonly reject: (error: Error) => void;
}

export function failAll(groups: readonly Group[], error: Error): void {
  for (const group of groups) group.reject(error);
}
