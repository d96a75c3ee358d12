import { unanswered } from '../algorithms/decide.js';
import { timeoutOf } from '../algorithms/group.js';
import { receiptFrom, unitsOf } from '../algorithms/receipt.js';
import { type Clock, systemClock } from '../base/clock.js';
import { asError } from '../base/errors.js';
import type { Eventually } from '../base/host.js';
import type { Answer, Rule } from '../contract/rule.js';
import type { Op, Step, Store, SyncStore } from '../contract/store.js';
import type { AskOptions } from '../contract/store-link.js';
import { forgivingMemory } from '../memory/memory-store.js';
import type { Calls } from './calls.js';
import { domainOf } from './circuit-breaker.js';
import {
  anyRejects,
  askParts,
  asLook,
  NOTHING_KNOWN,
  type Part,
  partsOf,
  place,
} from './group-parts.js';

/**
 * Calls a store. If a call fails, {@link Step.onStoreError} determines the answers, which carry the error in `failure`.
 * If `onStoreError` is a rule, the fallback counters decide. They also count the requests that an asynchronous store
 * admits, so that they are current when the store fails.
 */
export class Fallback {
  private readonly calls: Calls;
  private readonly counters: FallbackCounters;
  private readonly store: Store | undefined;

  constructor(calls: Calls, counters: FallbackCounters, store?: Store) {
    this.calls = calls;
    this.counters = counters;
    this.store = store;
  }

  /** Calls `then` with an answer for every step, even if the store fails. */
  askWithFallback<Value>(
    steps: readonly Step[],
    then: (answers: readonly Answer[]) => Eventually<Value>,
    options?: AskOptions,
  ): Eventually<Value> {
    if (this.calls.sync) return this.call(steps, then, options);
    this.counters.notePermits(steps);
    const parts = this.parts(steps);
    if (parts) return this.askAcross(parts, steps, options).then(then);
    const barred = this.calls.breaker?.bar(steps, options);
    if (!barred) return this.call(steps, then, options);
    const inTime = this.inTime(steps, options);
    return Promise.resolve(barred).then((error) =>
      error ? then(this.answerFor(steps, error)) : this.call(steps, then, inTime),
    );
  }

  /** Sets the deadline before the wait for a probe, so that the wait counts towards the timeout. */
  private inTime(steps: readonly Step[], options: AskOptions | undefined): AskOptions {
    const latestUs = systemClock.nowUs() + timeoutOf(steps.length, this.calls.timeoutUs);
    return { ...options, deadlineUs: Math.min(latestUs, options?.deadlineUs ?? Infinity) };
  }

  private call<Value>(
    steps: readonly Step[],
    then: (answers: readonly Answer[]) => Eventually<Value>,
    options: AskOptions | undefined,
  ): Eventually<Value> {
    const { calls, counters } = this;
    return calls.callStore(
      steps,
      (answers) => then(calls.sync ? answers : counters.follow(steps, answers)),
      options,
      (error) => then(this.answerFor(steps, error)),
    );
  }

  /** Returns the parts of the group; undefined if it lies in one part. Steps of one key are always in the same part. */
  private parts(steps: readonly Step[]): readonly Part<string>[] | undefined {
    const { store } = this;
    if (!store?.domainOf || steps.every(({ key }) => key === steps[0]?.key)) return undefined;
    const parts = partsOf(steps, (step) => domainOf(store, step));
    return parts.length > 1 ? parts : undefined;
  }

  /**
   * Asks a group of several parts. For parts whose breaker is open or that fail, `onStoreError` decides.
   *
   * Parts with an open breaker are decided first, without charging. If a step there is rejected, the other parts get
   * `look` steps in place of `take` steps. If all steps pass, the fallback counters are charged at the end.
   */
  private async askAcross(
    parts: readonly Part<string>[],
    steps: readonly Step[],
    options: AskOptions | undefined,
  ): Promise<readonly Answer[]> {
    const inTime = options?.background ? options : this.inTime(steps, options);
    const { calls } = this;
    const barred = await Promise.all(parts.map((part) => calls.breaker?.bar(part.steps, options)));
    const down = parts.filter((_, i) => barred[i]);
    if (down.length === parts.length) return this.answerFor(steps, barred[0]);
    const answerOf = (own: readonly Step[], error: unknown) =>
      this.counters.answerLocally(own, error, false);
    const errors = new Map(parts.map(({ name }, i) => [name, barred[i]]));
    const askPart = (own: readonly Step[], name: string, always: boolean) => {
      const error = errors.get(name);
      if (error) throw error;
      return calls.callStore(own, (answers) => answers, always ? undefined : inTime);
    };
    const answersOfDown: Answer[] = [];
    let rejected = false;
    for (const part of down) {
      const own = answerOf(part.steps, errors.get(part.name));
      place(part, own, answersOfDown);
      rejected ||= anyRejects(part.steps, own);
    }
    const up = parts.filter(({ name }) => !errors.get(name));
    const answers = await askParts(
      rejected ? up.map((part) => asLook(part)) : up,
      askPart,
      answerOf,
    );
    const all = steps.map((_, at) => (answers[at] ?? answersOfDown[at]) as Answer);
    return this.counters.follow(steps, all);
  }

  private answerFor(steps: readonly Step[], error: unknown): readonly Answer[] {
    return this.counters.answerLocally(steps, error, true);
  }
}

type CountedStep = Step & { readonly onStoreError: Rule };

function isCountedHere(step: Step): step is CountedStep {
  return typeof step.onStoreError === 'object' && !step.rule.logic?.failsClosed;
}

const isRenewal = ({ op, lease }: Step): boolean => op === 'record' && lease !== undefined;

function keepsPermit(step: Step): step is CountedStep {
  const isRelease = step.op === 'put' && step.lease !== undefined;
  return (isRelease || isRenewal(step)) && isCountedHere(step);
}

/** Maximum number of counts, about 3 MB. A key for which there is no room is allowed, unless it is paused or locked. */
const MAX_ENTRIES = 100_000;

/** Counters in this process. Not every process needs them, so their memory is created on first use. */
export class FallbackCounters {
  private memory: SyncStore | undefined;
  private rule: Rule | undefined;
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /**
   * Answers each step by its `onStoreError`, with the error in `failure`.
   *
   * @param charges false to answer without charging; `follow` charges later
   */
  answerLocally(steps: readonly Step[], error: unknown, charges: boolean): readonly Answer[] {
    const failure = asError(error);
    // Look first: whether anything is charged depends on all steps, also on steps that are not counted here.
    const looked = this.answerAs(steps, failure, () => 'look');
    if (!anyRejects(steps, looked)) {
      return charges ? this.answerAs(steps, failure, ({ op }) => op) : looked;
    }
    // A rejected take charges nothing, but it may start a lock.
    const looks = new Set(
      steps.filter(({ op }, place) => (op === 'take' ? looked[place]?.allowed : !charges)),
    );
    return this.answerAs(steps, failure, (step) => (looks.has(step) ? 'look' : step.op));
  }

  private answerAs(
    steps: readonly Step[],
    failure: Error,
    doing: (step: Step) => Op,
  ): readonly Answer[] {
    const counted = steps.filter(isCountedHere);
    const answers = counted.length === 0 ? [] : this.countSteps(counted, doing);
    let next = 0;
    return steps.map((step) => {
      if (isCountedHere(step)) {
        const own = answers[next++] as Answer;
        // If the store has the charge, the refund has failed, even if these counters give units back.
        const allowed = own.allowed && !(step.op === 'put' && (step.receipt?.atUs ?? -1) >= 0);
        return { ...own, allowed, failure };
      }
      return unanswered(step, failure);
    });
  }

  private countSteps(steps: readonly CountedStep[], doing: (step: Step) => Op): readonly Answer[] {
    const asked = steps.map((step) => localStep(step, isRenewal(step) ? 'look' : doing(step)));
    return this.applyInMemory(asked).map((answer, place) =>
      asked[place]?.op === 'look'
        ? answer
        : withReceipt(steps[place] as CountedStep, answer, answer),
    );
  }

  /**
   * Renews and releases permits in these counters when the step is sent, whether or not it reaches the store. If a
   * renewal waited for the store's answer, it could reclaim a permit that was released meanwhile.
   */
  notePermits(steps: readonly Step[]): void {
    if (!steps.some(keepsPermit)) return;
    this.applyInMemory(steps.filter(keepsPermit).map((step) => localStep(step, step.op)));
  }

  /** Counts the store's decisions here. Returns its answers, with receipts of the charges made here. */
  follow(steps: readonly Step[], answers: readonly Answer[]): readonly Answer[] {
    if (!steps.some(isCountedHere)) return answers;
    const isRejected = anyRejects(steps, answers);
    return steps.map((step, place) => {
      let answer = answers[place] as Answer;
      if (!isCountedHere(step)) return answer;
      const { failure } = answer;
      // Of a group that the store sent in parts, nobody has decided the steps of a part that failed.
      if (failure && answer.nowUs === NOTHING_KNOWN.nowUs)
        [answer] = this.answerLocally([step], failure, false) as [Answer];
      const heldUs = step.rule.logic?.heldUs?.(answer);
      if (heldUs) this.countHere({ ...step, holdUs: heldUs }, 'hold');
      const op = opAfter(step, answer, !isRejected);
      if (!op) return answer;
      let own = this.countHere(step, op);
      // The store has admitted this take, so a lock in these counters was ended by another process.
      if (step.op === 'take' && step.rule.machine === 'lock' && step.rule.logic?.heldUs?.(own)) {
        this.countHere(step, 'reset');
        own = this.countHere(step, op);
      }
      // Without the charge, `remaining` would be too high.
      const isLocal = failure && op === 'record' && !own.provisional;
      return withReceipt(
        step,
        isLocal ? { ...own, allowed: answer.allowed, failure } : answer,
        own,
      );
    });
  }

  /** Applies a step alone, not as part of its group, because the store has already decided that all steps pass. */
  private countHere(step: CountedStep, op: Op): Answer {
    return this.applyInMemory([localStep(step, op)])[0] as Answer;
  }

  forgetKey(limiter: string, key: string): void {
    const { memory, rule } = this;
    // The rule doesn't matter, because a reset covers all rules that are registered for the limiter.
    if (rule) memory?.apply([{ op: 'reset', limiter, key, rule, cost: 0, binding: false }]);
  }

  private applyInMemory(steps: readonly Step[]): readonly Answer[] {
    const memory = this.memory ?? forgivingMemory(MAX_ENTRIES, this.clock);
    this.memory = memory;
    for (const { limiter, rule } of steps) {
      if (rule !== this.rule) memory.register?.(limiter, rule);
      this.rule = rule;
    }
    try {
      return memory.apply(steps);
    } catch {
      // A custom limiter sent a group that no store could decide: let it pass.
      return steps.map(() => NOTHING_KNOWN);
    }
  }
}

function opAfter(step: CountedStep, answer: Answer | undefined, granted: boolean): Op | undefined {
  switch (step.op) {
    case 'take':
      return granted && answer?.allowed && step.cost > 0 ? 'record' : undefined;
    case 'put':
      return step.receipt?.fallbackReceipt ? 'put' : undefined; // not for permits: see `notePermits`
    case 'look':
      return undefined;
    case 'record':
      return isRenewal(step) ? undefined : 'record';
    default:
      return step.op;
  }
}

/** The step for these counters. A spread of the step would take longer than counting. */
function localStep(step: CountedStep, op: Op): Step {
  const { limiter, key, onStoreError: rule, cost, binding, lease } = step;
  const { holdUs, together, period, items, receipt, owed } = step;
  return {
    op,
    limiter,
    key,
    rule,
    cost,
    owed,
    binding,
    lease,
    holdUs,
    together,
    period,
    items,
    receipt: receipt?.fallbackReceipt,
  } as Step;
}

function withReceipt(step: CountedStep, answer: Answer, own: Answer): Answer {
  const { op, lease, onStoreError: rule, cost, owed } = step;
  const charged = op === 'take' ? answer.allowed && !lease : op === 'record' && rule.debt;
  if (!charged) return answer;
  if (own.provisional) return answer; // not counted: there was no room
  const units = unitsOf({ rule, cost, owed }) - (own.forgiven ?? 0);
  // The property comes before the spread, because in V8 adding it afterwards takes many times as long.
  return { fallbackReceipt: receiptFrom(rule, own, units), ...answer };
}
