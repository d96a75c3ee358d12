/** Store decorator: when the store cannot answer, each step's own policy does. */

import { asError } from '../errors.js';
import { isLater } from '../host.js';
import { memoryStore } from '../memory/memory-store.js';
import type { Rule } from '../rule.js';
import type { Answer, ApplyOptions, Step, Store, SyncStore } from '../store.js';

/**
 * Answers by {@link Step.onStoreError} where the store throws or rejects, and says so in `failure`. Steps that fall back to
 * this process are counted in `local` (default: {@link localOf} the store) with each admission, so that it knows the callers when it is needed.
 */
export function withFallback(store: Store, local: SyncStore = localOf(store)): Store {
  return new FallbackStore(store, local);
}

const LOCAL = Symbol('spillway.local');

/** The one store in this process that stands in for another, whoever uses it: guards that share limits share its counts too. */
export function localOf(store: Store): SyncStore {
  const owner = store as Store & { [LOCAL]?: SyncStore };
  if (!owner[LOCAL]) Object.defineProperty(owner, LOCAL, { value: lazyMemoryStore() });
  return owner[LOCAL] as SyncStore;
}

/** Made when first needed: most never are. */
function lazyMemoryStore(): SyncStore {
  let memory: SyncStore | undefined;
  return {
    sync: true,
    apply(steps) {
      memory ??= memoryStore();
      return memory.apply(steps);
    },
  };
}

class FallbackStore implements Store {
  readonly sync: boolean;

  constructor(
    private readonly store: Store,
    private readonly local: SyncStore,
  ) {
    this.sync = store.sync;
  }

  apply(steps: readonly Step[], options?: ApplyOptions): ReturnType<Store['apply']> {
    let answers: ReturnType<Store['apply']>;
    try {
      answers = this.store.apply(steps, options);
    } catch (error) {
      return this.answerFor(steps, error);
    }
    if (!isLater(answers)) return this.keepWarm(steps, answers);
    return answers.then(
      (value) => this.keepWarm(steps, value),
      (error: unknown) => this.answerFor(steps, error),
    );
  }

  private keepWarm(steps: readonly Step[], answers: readonly Answer[]): readonly Answer[] {
    if (!steps.some(isLocal)) return answers;
    const admitted = steps.every(
      (step, index) => !step.binding || step.op !== 'take' || answers[index]?.allowed,
    );
    const charges: Step[] = [];
    steps.forEach((step, index) => {
      if (!isLocal(step)) return;
      if (charged(step, answers[index], admitted)) charges.push(localStep(step, 'record'));
      // A lease has one name here and there; other receipts are the store's own.
      else if (step.op === 'put' && step.lease) charges.push(localStep(step, 'put'));
    });
    if (charges.length > 0) this.local.apply(charges);
    return answers;
  }

  private answerFor(steps: readonly Step[], error: unknown): readonly Answer[] {
    const failure = asError(error);
    const refused = steps.some((step) => step.binding && step.onStoreError === 'deny');
    const local = steps.filter(isLocal);
    const answers =
      local.length === 0
        ? []
        : this.local.apply(
            // A group that is refused anyway charges nothing here either.
            local.map((step) => localStep(step, refused && step.op === 'take' ? 'look' : step.op)),
          );
    let next = 0;
    return steps.map((step) => {
      if (isLocal(step)) return { ...(answers[next++] as Answer), failure };
      const allowed = step.onStoreError !== 'deny' && step.op !== 'put';
      return { allowed, nowUs: 0, tatUs: 0, tatNum: 0, failure };
    });
  }
}

type LocalStep = Step & { readonly onStoreError: Rule };

function isLocal(step: Step): step is LocalStep {
  return typeof step.onStoreError === 'object';
}

function charged(step: Step, answer: Answer | undefined, admitted: boolean): boolean {
  return step.op === 'record' || (step.op === 'take' && admitted && answer?.allowed === true);
}

function localStep(step: LocalStep, op: Step['op']): Step {
  return { ...step, op, rule: step.onStoreError };
}
