/** Fallback counters: what this process admitted of the limits of a store, for when the store fails. */

import { unanswered } from '../algorithms/decide.js';
import { receiptFrom } from '../algorithms/receipt.js';
import type { Clock } from '../base/clock.js';
import { asError } from '../base/errors.js';
import type { Answer } from '../contract/ask.js';
import type { Rule } from '../contract/rule.js';
import type { Op, Step, SyncStore } from '../contract/store.js';
import { forgivingMemory } from '../memory/memory-store.js';
import { refuses } from './group-parts.js';

/** A step whose limit this process counts when the store fails. */
type CountedStep = Step & { readonly onStoreError: Rule };

function isCountedHere(step: Step): step is CountedStep {
  return typeof step.onStoreError === 'object' && !step.rule.logic?.failsClosed;
}

function endsPermit(step: Step): step is CountedStep {
  return step.op === 'put' && step.lease !== undefined && isCountedHere(step);
}

/** About 3 MB of buckets. A key without room is allowed: only counted keys are refused. */
const MAX_ENTRIES = 100_000;

/** The counts are made when they are first needed: most processes never do. */
export class FallbackCounters {
  private memory: SyncStore | undefined;
  /** The rule that was counted by last. */
  private rule: Rule | undefined;
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Answers each step by its policy, and says why in `failure`. `charges` false: it only says what it would say. */
  answer(steps: readonly Step[], error: unknown, charges: boolean): readonly Answer[] {
    const failure = asError(error);
    // Looked at first: only all steps together, counted here or not, say what is charged.
    const looked = this.tell(steps, failure, () => 'look');
    // What is only asked about is charged later, by `follow`.
    if (!charges) return looked;
    const isRefused = refuses(steps, looked);
    return this.tell(steps, failure, ({ op }) => (op === 'take' && isRefused ? 'look' : op));
  }

  /** Does what `doing` says with each step that is counted here, and answers all. */
  private tell(
    steps: readonly Step[],
    failure: Error,
    doing: (step: Step) => Op,
  ): readonly Answer[] {
    const counted = steps.filter(isCountedHere);
    const answers = counted.length === 0 ? [] : this.decide(counted, doing);
    let next = 0;
    return steps.map((step) => {
      if (isCountedHere(step)) {
        const own = answers[next++] as Answer;
        // What the store has charged is not given back there.
        const allowed = own.allowed && !(step.op === 'put' && (step.receipt?.atUs ?? -1) >= 0);
        return { ...own, allowed, failure };
      }
      return unanswered(step, failure);
    });
  }

  private decide(steps: readonly CountedStep[], doing: (step: Step) => Op): readonly Answer[] {
    const asked = steps.map((step) => localStep(step, doing(step)));
    return this.apply(asked).map((answer, place) =>
      asked[place]?.op === 'take'
        ? withReceipt(steps[place] as CountedStep, answer, answer)
        : answer,
    );
  }

  /**
   * Frees the permits that are given back: that their requests have ended is known here, whether or not the store ever
   * hears of it.
   */
  release(steps: readonly Step[]): void {
    if (!steps.some(endsPermit)) return;
    this.apply(steps.filter(endsPermit).map((step) => localStep(step, 'put')));
  }

  /** Repeats what the store has done; its answers come back with the receipts of what was charged here. */
  follow(steps: readonly Step[], answers: readonly Answer[]): readonly Answer[] {
    if (!steps.some(isCountedHere)) return answers;
    const isRefused = refuses(steps, answers);
    return steps.map((step, place) => {
      const answer = answers[place] as Answer;
      const op = isCountedHere(step) && opAfter(step, answer, !isRefused);
      if (!op) return answer;
      // Each by itself: that all pass was decided by the store.
      const [own] = this.apply([localStep(step, op)]);
      return withReceipt(step, answer, own as Answer);
    });
  }

  /** Forgets a key of a limiter, which was reset elsewhere. */
  forget(limiter: string, key: string): void {
    const { memory, rule } = this;
    // Of any rule: the memory knows the others that the limiter counts by.
    if (rule) memory?.apply([{ op: 'reset', limiter, key, rule, cost: 0, binding: false }]);
  }

  private apply(steps: readonly Step[]): readonly Answer[] {
    const memory = this.memory ?? forgivingMemory(MAX_ENTRIES, this.clock);
    this.memory = memory;
    for (const { limiter, rule } of steps) {
      if (rule !== this.rule) memory.register?.(limiter, rule);
      this.rule = rule;
    }
    try {
      return memory.apply(steps);
    } catch {
      // A group that no store could decide, of a limiter that is not ours: nobody is refused for it.
      return steps.map(() => NOTHING_KNOWN);
    }
  }
}

const NOTHING_KNOWN: Answer = { allowed: true, nowUs: 0, tatUs: 0, tatNum: 0 };

/** What is counted here once the store has answered; undefined for nothing. */
function opAfter(step: CountedStep, answer: Answer | undefined, granted: boolean): Op | undefined {
  switch (step.op) {
    case 'take':
      return granted && answer?.allowed && step.cost > 0 ? 'record' : undefined;
    case 'put':
      return step.receipt?.standIn ? 'put' : undefined; // permits are free already
    case 'look':
      return undefined;
    default:
      return step.op;
  }
}

/**
 * The step under this process's rule. The store's receipt names nothing here. Field by field: a copy of all costs more
 * than the count.
 */
function localStep(step: CountedStep, op: Op): Step {
  const { limiter, key, onStoreError: rule, cost, binding, lease, holdUs, receipt } = step;
  return {
    op,
    limiter,
    key,
    rule,
    cost,
    binding,
    lease,
    holdUs,
    receipt: receipt?.standIn,
  } as Step;
}

function withReceipt(step: CountedStep, answer: Answer, own: Answer): Answer {
  if (step.op !== 'take' || step.lease || !answer.allowed) return answer;
  if (own.provisional) return answer; // there was no room to count it
  // In this order: V8 takes many times as long to add to a copy as to copy into what has more.
  return { standIn: receiptFrom(step.onStoreError, own, step.cost), ...answer };
}
