import type { Answer, Step } from '@spillway/core';

export interface Group {
  readonly steps: readonly Step[];
  readonly redisKeys: string[];
  /** The hash slot of all keys; 0 unless on Cluster. */
  readonly slot: number;
  /** The deadline by the process's clock; Infinity if there is none. */
  readonly deadlineUs: number;
  readonly isBackground: boolean;
  readonly resolve: (answers: readonly Answer[]) => void;
  readonly reject: (error: Error) => void;
}

export function failAll(groups: readonly Group[], error: Error): void {
  for (const group of groups) group.reject(error);
}
