/** Fallback counters: what this process admitted, counted in memory for the times when the store fails. */

import { unanswered } from '../algorithms/decide.js';
import { receiptFrom, unitsOf } from '../algorithms/receipt.js';
import type { Clock } from '../base/clock.js';
import { asError } from '../base/errors.js';
import type { Answer } from '../contract/ask.js';
import type { Rule } from '../contract/rule.js';
import type { Op, Step, SyncStore } from '../contract/store.js';
import { forgivingMemory } from '../memory/memory-store.js';
import { anyRejects } from './group-parts.js';

/** A step with a rule for the fallback counters (`onStoreError: 'local'`). */
type CountedStep = Step & { readonly onStoreError: Rule };

function isCountedHere(step: Step): step is CountedStep {
  return typeof step.onStoreError === 'object' && !step.rule.logic?.failsClosed;
}

function endsPermit(step: Step): step is CountedStep {
  return step.op === 'put' && step.lease !== undefined && isCountedHere(step);
}

/** About 3 MB of buckets. A key for which there is no room is allowed. */
const MAX_ENTRIES = 100_000;

/** The memory is created on first use, because most processes never need it. */
export class FallbackCounters {
  private memory: SyncStore | undefined;
  /** The rule of the last step, which needs no second registration. */
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
    // Look first: whether anything is charged depends on all steps, also on those that are not counted here.
    const looked = this.answerAs(steps, failure, () => 'look');
    if (!charges) return looked;
    const isRejected = anyRejects(steps, looked);
    return this.answerAs(steps, failure, ({ op }) => (op === 'take' && isRejected ? 'look' : op));
  }

  /** Answers all steps; those that are counted here with the operation that `doing` returns. */
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
        // A refund of a charge that only the store has does not succeed here.
        const allowed = own.allowed && !(step.op === 'put' && (step.receipt?.atUs ?? -1) >= 0);
        return { ...own, allowed, failure };
      }
      return unanswered(step, failure);
    });
  }

  private countSteps(steps: readonly CountedStep[], doing: (step: Step) => Op): readonly Answer[] {
    const asked = steps.map((step) => localStep(step, doing(step)));
    return this.applyInMemory(asked).map((answer, place) =>
      asked[place]?.op === 'look'
        ? answer
        : withReceipt(steps[place] as CountedStep, answer, answer),
    );
  }

  /**
   * Releases permits here at once: their requests have ended, even if the release never reaches the store.
   */
  release(steps: readonly Step[]): void {
    if (!steps.some(endsPermit)) return;
    this.applyInMemory(steps.filter(endsPermit).map((step) => localStep(step, 'put')));
  }

  /** Counts here what the store has done. Returns its answers, with receipts of what was charged here. */
  follow(steps: readonly Step[], answers: readonly Answer[]): readonly Answer[] {
    if (!steps.some(isCountedHere)) return answers;
    const isRejected = anyRejects(steps, answers);
    return steps.map((step, place) => {
      const answer = answers[place] as Answer;
      const op = isCountedHere(step) && opAfter(step, answer, !isRejected);
      if (!op) return answer;
      // One at a time, not as a group: the store has already decided that all pass.
      const [own] = this.applyInMemory([localStep(step, op)]);
      return withReceipt(step, answer, own as Answer);
    });
  }

  /** Resets a key of a limiter after it was reset elsewhere. */
  forgetKey(limiter: string, key: string): void {
    const { memory, rule } = this;
    // Any rule will do: a reset covers all rules that are registered for the limiter.
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

const NOTHING_KNOWN: Answer = { allowed: true, nowUs: 0, tatUs: 0, tatNum: 0 };

/** The operation that `follow` applies here; undefined for none. */
function opAfter(step: CountedStep, answer: Answer | undefined, granted: boolean): Op | undefined {
  switch (step.op) {
    case 'take':
      return granted && answer?.allowed && step.cost > 0 ? 'record' : undefined;
    case 'put':
      return step.receipt?.fallbackReceipt ? 'put' : undefined; // `release` has already released permits
    case 'look':
      return undefined;
    default:
      return step.op;
  }
}

/**
 * The step with this process's rule and its own receipt, because the store's receipt means nothing here. Listed
 * property by property: a spread costs more than the count.
 */
function localStep(step: CountedStep, op: Op): Step {
  const { limiter, key, onStoreError: rule, cost, binding, lease } = step;
  const { holdUs, together, period, receipt, owed } = step;
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
    receipt: receipt?.fallbackReceipt,
  } as Step;
}

function withReceipt(step: CountedStep, answer: Answer, own: Answer): Answer {
  const { op, lease, onStoreError: rule, cost, owed } = step;
  const charged = op === 'take' ? answer.allowed && !lease : op === 'record' && rule.debt;
  if (!charged) return answer;
  if (own.provisional) return answer; // not counted: there was no room
  const units = unitsOf({ rule, cost, owed }) - (own.forgiven ?? 0);
  // In this order: in V8, adding a property after the spread takes many times as long.
  return { fallbackReceipt: receiptFrom(rule, own, units), ...answer };
}
