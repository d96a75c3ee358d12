/** How releases and renewals are sent. */

import type { Answer } from '../../contract/ask.js';
import type { Step } from '../../contract/store.js';

/** Steps sent in one turn at most: some milliseconds of a store, so that requests hardly wait for them. */
export const MOST_STEPS = 512;

/** After so long without an answer a release is taken for lost. */
export const GIVE_BACK_US = 1_000_000;

/** The step that gives a lease back. */
export function releaseOf(step: Step): Step {
  return { ...step, op: 'put' };
}

export function hasFailed(answer: Answer | undefined): boolean {
  return answer === undefined || answer.failure !== undefined;
}
