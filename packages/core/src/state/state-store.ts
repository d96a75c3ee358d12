/** A store over any database that can read some texts, decide, and write them while nobody else does. */

import { groupPasses, MAX_STEPS, spread, tooLarge, uniqueGroup } from '../algorithms/group.js';
import { KnownCounts } from '../algorithms/known-counts.js';
import type { StoredCount } from '../algorithms/stored-count.js';
import { readCount, stateOf } from '../algorithms/texts.js';
import { checkHas, checkObject } from '../base/check-shapes.js';
import type { Clock } from '../base/clock.js';
import { type EncodeNameOptions, encodeName } from '../base/encode-name.js';
import { type Answer, isEnd } from '../contract/ask.js';
import { countOf, type Rule } from '../contract/rule.js';
import type { ApplyOptions, Step, Store, Values } from '../contract/store.js';
import type { LinkedStore } from '../contract/store-link.js';
import { remoteStore } from '../stores/remote-store.js';
import type { StateBackend, StateChanges } from './state-backend.js';
import { StateValues } from './state-values.js';
import { transact } from './transaction.js';

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
export function stateStore(backend: StateBackend): LinkedStore {
  checkObject('backend', backend);
  checkHas('backend', 'transact', backend);
  return remoteStore(new StateStore(backend));
}

class StateStore implements Store {
  readonly sync = false;
  readonly label?: string;
  readonly testClock?: Clock;
  readonly denialsLastUs?: number;
  readonly domainOf?: (step: Step) => string;
  readonly values: Values;
  private readonly backend: StateBackend;
  private readonly known = new KnownCounts();
  private readonly naming: EncodeNameOptions;

  constructor(backend: StateBackend) {
    const { label, testClock, denialsLastUs } = backend;
    this.backend = backend;
    if (label !== undefined) this.label = label;
    if (testClock) this.testClock = testClock;
    if (denialsLastUs !== undefined) this.denialsLastUs = denialsLastUs;
    if (backend.domainOf) this.domainOf = backend.domainOf.bind(backend);
    this.naming = { hash: backend.hash?.bind(backend) };
    this.values = new StateValues(backend, this.naming);
  }

  register(limiter: string, rule: Rule): void {
    this.known.note(limiter, rule);
  }

  async apply(steps: readonly Step[], options: ApplyOptions = {}): Promise<readonly Answer[]> {
    if (steps.length === 0) return [];
    if (steps.length > MAX_STEPS) throw tooLarge();
    const group = uniqueGroup(steps);
    const named = group.steps.map((step) => this.named(step));
    const texts = new TextGroup(named);
    // What only ends something is welcome at any time.
    const within = steps.every(isEnd) ? {} : options;
    const answers = await transact(this.backend, texts.names, within, (stored, nowUs) => {
      const decided = texts.decide(stored, nowUs);
      return { result: decided.answers, changes: decided.changes };
    });
    return spread(group, answers);
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

/** A step with the name of its count. */
interface NamedStep {
  readonly step: Step;
  readonly name: string;
  /** The further steps of a reset: one for each other count of its limiter. */
  readonly others: readonly NamedStep[];
}

interface Decided {
  readonly answers: readonly Answer[];
  readonly changes: StateChanges;
}

type Texts = ReadonlyMap<string, string | undefined>;

/** A group of steps, decided on the texts of its counts. */
class TextGroup {
  /** Of all counts that the group reads or writes: each once, in ascending order. */
  readonly names: readonly string[];
  private readonly steps: readonly NamedStep[];

  /** @param steps of one group, no count twice */
  constructor(steps: readonly NamedStep[]) {
    const names = steps.flatMap(({ name, others }) => [name, ...others.map((other) => other.name)]);
    this.names = [...new Set(names)].sort();
    this.steps = steps;
  }

  /**
   * What is answered to the steps, and what is to be stored. May be asked any number of times.
   *
   * @throws SpillwayError `SPW_STORE_ERROR` if a text is not one of ours
   */
  decide(texts: readonly (string | undefined)[], nowUs: number): Decided {
    const stored = new Map(this.names.map((name, place) => [name, texts[place]]));
    const counts = new Map<string, StoredCount>();
    // A count is read once and changed in place. It stays right to judge a take first and to charge it then: a take
    // that does not charge changes only what charging changes too.
    const perform = ({ step, name }: NamedStep, charge: boolean): Answer => {
      const count = counts.get(name) ?? readCount(step, stored.get(name));
      counts.set(name, count);
      return count.step(step, nowUs, charge);
    };
    const { steps } = this;
    const at = (place: number) => steps[place] as NamedStep;
    const group = steps.map(({ step }) => step);
    const passes = groupPasses(group, (_, place) => perform(at(place), false).allowed);
    const answers = steps.map((named) => {
      for (const other of named.others) perform(other, true);
      return perform(named, passes);
    });
    return { answers, changes: changesOf(counts, stored, nowUs) };
  }
}

/** Only what differs: a count that was never used and is reset needs no writing. */
function changesOf(
  counts: ReadonlyMap<string, StoredCount>,
  stored: Texts,
  nowUs: number,
): StateChanges {
  const changes = new Map<string, ReturnType<typeof stateOf>>();
  for (const [name, count] of counts) {
    if (!count.changed) continue;
    const state = stateOf(count, nowUs);
    if (state?.text !== stored.get(name)) changes.set(name, state);
  }
  return changes;
}
