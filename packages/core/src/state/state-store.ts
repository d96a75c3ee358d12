/** A store over any database that can read some texts, decide, and write them while nobody else does. */

import { checkHas, checkObject } from '../base/check-shapes.js';
import { type Clock, systemClock } from '../base/clock.js';
import { type EncodeNameOptions, encodeName } from '../base/encode-name.js';
import { SpillwayError } from '../base/errors.js';
import type { Answer } from '../contract/answer.js';
import { isEnd } from '../contract/ask.js';
import { spread, uniqueGroup } from '../contract/group.js';
import { MAX_STEPS, tooLarge } from '../contract/group-size.js';
import { KnownCounts } from '../contract/known-counts.js';
import { countOf, type Rule } from '../contract/rule.js';
import type { ApplyOptions, Step, Store } from '../contract/store.js';
import type { StateBackend } from './backend.js';
import { type NamedStep, TextGroup } from './text-group.js';

/**
 * Keeps counts in any database: the algorithms run in this process, between the reading and the writing of one
 * transaction of the backend. Each call is one transaction over all counts of its group.
 *
 * A call rejects with `SPW_STORE_TIMEOUT` if its deadline passes before the transaction begins or decides, with
 * `SPW_STORE_ERROR` if a stored text is not one of ours or the backend breaks its promises, with
 * `SPW_GROUP_TOO_LARGE` for more than 1,000 steps, and with `SPW_GROUP_INVALID` as `uniqueGroup` does; in all these
 * cases nothing is charged. Any other error is the backend's own.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID` if `backend` has no `transact`
 * @example
 * ```ts run
 * import { createLimiter } from '@spillway/core';
 * import { stateStore, systemClock } from '@spillway/core/store';
 *
 * const rows = new Map<string, { text: string; expiresUs: number }>();
 * const store = stateStore({
 *   async transact(names, decide) {
 *     const texts = names.map((name) => rows.get(name)?.text);
 *     for (const [name, state] of decide(texts, systemClock.nowUs())) {
 *       if (state) rows.set(name, state);
 *       else rows.delete(name);
 *     }
 *   },
 * });
 * const limiter = createLimiter({ name: 'login', limit: 5, window: '1m' }, { store });
 * (await limiter.consume('ada')).remaining; // 4
 * ```
 */
export function stateStore(backend: StateBackend): Store {
  checkObject('backend', backend);
  checkHas('backend', 'transact', backend);
  return new StateStore(backend);
}

class StateStore implements Store {
  readonly sync = false;
  readonly label?: string;
  readonly testClock?: Clock;
  readonly refusalsLastUs?: number;
  readonly domainOf?: (step: Step) => string;
  private readonly backend: StateBackend;
  private readonly known = new KnownCounts();
  private readonly naming: EncodeNameOptions;

  constructor(backend: StateBackend) {
    const { label, testClock, refusalsLastUs } = backend;
    this.backend = backend;
    if (label !== undefined) this.label = label;
    if (testClock) this.testClock = testClock;
    if (refusalsLastUs !== undefined) this.refusalsLastUs = refusalsLastUs;
    if (backend.domainOf) this.domainOf = backend.domainOf.bind(backend);
    this.naming = { hash: backend.hash?.bind(backend) };
  }

  register(limiter: string, rule: Rule): void {
    this.known.note(limiter, rule);
  }

  async apply(steps: readonly Step[], options?: ApplyOptions): Promise<readonly Answer[]> {
    if (steps.length === 0) return [];
    if (steps.length > MAX_STEPS) throw tooLarge();
    const isLate = lateness(steps, options);
    if (isLate()) throw tooLate();
    const group = uniqueGroup(steps);
    const named = group.steps.map((step) => this.named(step));
    const texts = new TextGroup(group, named);
    let last = (): readonly Answer[] => {
      throw undecided();
    };
    await this.backend.transact(texts.names, (stored, nowUs) => {
      // Not thrown in here: this error is about the call, and backends may wrap what is thrown in a transaction.
      try {
        if (isLate()) throw tooLate();
        const { answers, changes } = texts.decide(stored, nowUs);
        last = () => answers;
        return changes;
      } catch (error) {
        last = () => {
          throw error;
        };
        return new Map();
      }
    });
    return spread(group, last());
  }

  /** A reset forgets the key in all counts of its limiter. */
  private named(step: Step): NamedStep {
    const others = step.op === 'reset' ? this.known.otherResets(step) : [];
    return {
      step,
      name: this.nameOf(step),
      others: others.map((other) => ({ step: other, name: this.nameOf(other), others: [] })),
    };
  }

  private nameOf(step: Step): string {
    return encodeName(step.limiter, step.key, countOf(step), this.naming);
  }
}

/** Whether nobody waits for the answer any more. What only ends something is welcome at any time. */
function lateness(steps: readonly Step[], options: ApplyOptions | undefined): () => boolean {
  const deadlineUs = options?.deadlineUs ?? Infinity;
  if (deadlineUs === Infinity || steps.every(isEnd)) return () => false;
  return () => systemClock.nowUs() > deadlineUs;
}

function undecided(): SpillwayError {
  return new SpillwayError(
    'SPW_STORE_ERROR',
    'the backend has ended the transaction without a decision: transact must call decide',
  );
}

function tooLate(): SpillwayError {
  return new SpillwayError(
    'SPW_STORE_TIMEOUT',
    'the deadline passed before the database could decide',
  );
}
