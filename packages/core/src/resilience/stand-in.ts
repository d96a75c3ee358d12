/** What answers a step that its store cannot: to let pass, to refuse, or a count in this process. */

import type { Rule } from '../rule.js';
import type { Answer, Step, SyncStore } from '../store.js';

/** A step that this process answers where its store cannot. */
export type LocalStep = Step & { readonly onStoreError: Rule };

export function isLocal(step: Step): step is LocalStep {
  return typeof step.onStoreError === 'object';
}

/** Whether a step charged its count. */
export function charged(step: Step, answer: Answer | undefined, admitted: boolean): boolean {
  return step.op === 'record' || (step.op === 'take' && admitted && answer?.allowed === true);
}

export function localStep(step: LocalStep, op: Step['op']): Step {
  return { ...step, op, rule: step.onStoreError };
}

/**
 * Answers each step by its policy, and says why in `failure`.
 *
 * @param charges false: `local` only says what it would say
 */
export function standIn(
  steps: readonly Step[],
  local: SyncStore,
  error: unknown,
  charges: boolean,
): readonly Answer[] {
  const failure = error instanceof Error ? error : new Error(String(error));
  // A group that is refused anyway charges nothing here either.
  const refused = steps.some((step) => step.binding && step.onStoreError === 'deny');
  const opOf = ({ op }: Step): Step['op'] => {
    if (op === 'record') return charges ? op : 'look';
    return op === 'take' && (refused || !charges) ? 'look' : op;
  };
  const own = steps.filter(isLocal).map((step) => localStep(step, opOf(step)));
  const answers = own.length === 0 ? [] : local.apply(own);
  let next = 0;
  return steps.map((step) => {
    if (isLocal(step)) return { ...(answers[next++] as Answer), failure };
    const allowed = step.onStoreError !== 'deny' && step.op !== 'put';
    return { allowed, nowUs: 0, tatUs: 0, tatNum: 0, failure };
  });
}
