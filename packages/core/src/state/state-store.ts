import { readCount, stateOf } from '../algorithms/by-name.js';
import {
  groupPasses,
  MAX_STEPS,
  spread,
  startTogether,
  tooLarge,
  uniqueGroup,
} from '../algorithms/group.js';
import { KnownCounts } from '../algorithms/known-counts.js';
import type { StoredCount } from '../algorithms/stored-count.js';
import { checkHas, checkObject } from '../base/check-shapes.js';
import type { Clock } from '../base/clock.js';
import { type EncodeNameOptions, encodeName } from '../base/encode-name.js';
import { isEnd } from '../contract/ask.js';
import { type Answer, countOf, type Rule } from '../contract/rule.js';
import type { ApplyOptions, Step, Store, Values } from '../contract/store.js';
import type { LinkedStore } from '../contract/store-link.js';
import { remoteStore } from '../stores/remote-store.js';
import type { StateBackend, StateChanges } from './state-backend.js';
import { stateValues } from './state-values.js';
import { transact } from './transaction.js';

/**
 * Stores counts in any database. The algorithms run in this process, between the read and the write of a transaction.
 * Each call is one transaction over all counts of its group.
 *
 * A call rejects with one of these codes, and then nothing is charged:
 *
 * - `SPW_STORE_TIMEOUT`: the deadline passed before the transaction began, or before it called `decide`.
 * - `SPW_STORE_ERROR`: a stored text is not in our format, or the backend violated its contract.
 * - `SPW_GROUP_TOO_LARGE`: more than 1,000 steps.
 * - `SPW_GROUP_INVALID`: see `uniqueGroup`.
 *
 * Any other error of the backend is passed on.
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
    this.values = stateValues(backend, this.naming);
  }

  register(limiter: string, rule: Rule): void {
    this.known.note(limiter, rule);
  }

  async apply(steps: readonly Step[], options: ApplyOptions = {}): Promise<readonly Answer[]> {
    if (steps.length === 0) return [];
    if (steps.length > MAX_STEPS) throw tooLarge();
    const group = uniqueGroup(steps);
    const named = group.steps.map((step) => this.named(step));
    const names = namesOf(named);
    // Steps at the end of a request, such as refunds and releases, have no deadline, because they are useful at any
    // time.
    const within = steps.every(isEnd) ? {} : options;
    const answers = await transact(this.backend, names, within, (texts, nowUs) =>
      decideGroup(named, new Map(names.map((name, place) => [name, texts[place]])), nowUs),
    );
    return spread(group, answers);
  }

  private named(step: Step): NamedStep {
    const others = step.op === 'reset' ? this.known.otherResets(step) : [];
    return {
      step,
      name: this.countNameOf(step),
      others: others.map((other) => ({ step: other, name: this.countNameOf(other), others: [] })),
    };
  }

  private countNameOf(step: Step): string {
    return encodeName(step.limiter, step.key, countOf(step), this.naming);
  }
}

interface NamedStep {
  readonly step: Step;
  readonly name: string;
  readonly others: readonly NamedStep[];
}

type Texts = ReadonlyMap<string, string | undefined>;

/** The names of all counts that the steps read or write, each once, in ascending order. */
function namesOf(steps: readonly NamedStep[]): readonly string[] {
  const names = steps.flatMap(({ name, others }) => [name, ...others.map((other) => other.name)]);
  return [...new Set(names)].sort();
}

/** Decides on the whole group. A backend that retries its transaction calls this again. */
function decideGroup(
  steps: readonly NamedStep[],
  stored: Texts,
  nowUs: number,
): { readonly result: readonly Answer[]; readonly changes: StateChanges } {
  const counts = new Map<string, StoredCount>();
  // Each count is read once and changed in place. A step that is judged changes only what charging it would change
  // too.
  const perform = ({ name }: NamedStep, step: Step, charge: boolean): Answer => {
    const count = counts.get(name) ?? readCount(step, stored.get(name));
    counts.set(name, count);
    return count.step(step, nowUs, charge);
  };
  const judge = (step: Step, place: number) => perform(steps[place] as NamedStep, step, false);
  const group = startTogether(
    steps.map(({ step }) => step),
    judge,
  );
  const passes = groupPasses(group, (step, place) => judge(step, place).allowed);
  const result = group.map((step, place) => {
    const named = steps[place] as NamedStep;
    for (const other of named.others) perform(other, other.step, true);
    return perform(named, step, passes);
  });
  return { result, changes: changesOf(counts, stored, nowUs) };
}

/** The changes to write, without counts whose text stays the same, such as an unused count that is reset. */
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
