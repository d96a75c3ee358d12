/** One group on its way to Redis. */

import type { Answer, Step } from '@spillway/core';

/** A group without repeated keys, and who waits for its answer. */
export interface Group {
  readonly steps: readonly Step[];
  /** The Redis key of each step. */
  readonly names: readonly string[];
  /** The hash slot of all names; 0 unless on Cluster. */
  readonly slot: number;
  /** On the process's clock; Infinity for none. */
  readonly deadlineUs: number;
  /** Whether it shares a call only with others of its deadline: nobody waits for it, and it is never sent again. */
  readonly isApart: boolean;
  readonly resolve: (answers: readonly Answer[]) => void;
  readonly reject: (error: Error) => void;
}

/** Ends all of `questions` with one error. */
export function failAll(questions: readonly Group[], error: Error): void {
  for (const question of questions) question.reject(error);
}
