/** A group whose steps lie in several parts of a store: it is decided as one, and what was taken is put back. */

import { groupPasses } from '../algorithms/group.js';
import { receiptFrom } from '../algorithms/receipt.js';
import type { Answer } from '../contract/ask.js';
import type { Step } from '../contract/store.js';

/** The steps of a group that are asked together. */
export interface Part<Name> {
  /** What they have in common, such as a shard or a hash slot. */
  readonly name: Name;
  readonly steps: readonly Step[];
  /** The place of each step in the whole group. */
  readonly places: readonly number[];
}

/** Sorts the steps of a group into parts. */
export function partsOf<Name>(
  steps: readonly Step[],
  nameOf: (step: Step, place: number) => Name,
): Part<Name>[] {
  const parts = new Map<Name, { name: Name; steps: Step[]; places: number[] }>();
  for (const [place, step] of steps.entries()) {
    const name = nameOf(step, place);
    const part = parts.get(name) ?? { name, steps: [], places: [] };
    parts.set(name, part);
    part.steps.push(step);
    part.places.push(place);
  }
  return [...parts.values()];
}

/** The same part, in which no step takes anything. */
export function asLook<Name>(part: Part<Name>): Part<Name> {
  const lookFor = (step: Step): Step => (step.op === 'take' ? { ...step, op: 'look' } : step);
  return { ...part, steps: part.steps.map(lookFor) };
}

/** Puts the answers of a part where the whole group has its steps. */
export function place<Name>(part: Part<Name>, own: readonly Answer[], answers: Answer[]): void {
  for (const [i, at] of part.places.entries()) answers[at] = own[i] as Answer;
}

/** Whether what was answered refuses the group. */
export function refuses(steps: readonly Step[], answers: readonly Answer[]): boolean {
  return !groupPasses(steps, (_, place) => answers[place]?.allowed === true);
}

/** `always`: it gives back, so that no deadline may keep it from being done. */
type Ask<Name> = (
  steps: readonly Step[],
  name: Name,
  always: boolean,
) => readonly Answer[] | Promise<readonly Answer[]>;

/** Answers for a part that failed, and charges nothing. */
type AnswerFailed = (steps: readonly Step[], error: unknown) => readonly Answer[];

/**
 * Asks all parts at once. What the others took is put back if one refuses, or fails and its `answerFailed` refuses. In
 * between, others may be refused for it: never too much is admitted, for a moment too little. The answers stand at the
 * places of their steps.
 *
 * @param answerFailed without it, a part that fails makes the group fail, unless another part refuses the group. What
 * failed, and does not make the group fail, is answered with `failure`.
 */
export async function askParts<Name>(
  parts: readonly Part<Name>[],
  ask: Ask<Name>,
  answerFailed?: AnswerFailed,
): Promise<readonly Answer[]> {
  const group = new GroupInParts(ask, answerFailed);
  const taken = await group.take(parts);
  if (taken.passes) return group.answers;
  await group.undo(taken);
  // A part alone decides by itself.
  return parts.length > 1 ? group.answers.map(asProvisional) : group.answers;
}

/** As this group took for a moment and put back, others may have: what refused it may be gone. */
function asProvisional(answer: Answer): Answer {
  return answer.allowed ? answer : { ...answer, provisional: true };
}

/** What becomes of parts that are asked together. */
interface Taken<Name> {
  readonly refused: boolean;
  /** The first part that failed without an answer in its place. */
  readonly failed: PromiseRejectedResult | undefined;
  /** Neither refused nor failed. */
  readonly passes: boolean;
  /** The parts that may have been charged. */
  readonly granted: readonly Part<Name>[];
}

/** Asks parts of one group, and keeps the answers. */
class GroupInParts<Name> {
  readonly answers: Answer[] = [];
  private readonly ask: Ask<Name>;
  private readonly answerFailed: AnswerFailed | undefined;

  constructor(ask: Ask<Name>, answerFailed: AnswerFailed | undefined) {
    this.ask = ask;
    this.answerFailed = answerFailed;
  }

  /** Asks all of them at once, and puts nothing back. */
  async take(parts: readonly Part<Name>[]): Promise<Taken<Name>> {
    const results = await Promise.allSettled(
      parts.map(async ({ steps, name }) => this.ask(steps, name, false)),
    );
    const granted: Part<Name>[] = [];
    let refused = false;
    let failed: PromiseRejectedResult | undefined;
    for (const [at, part] of parts.entries()) {
      const result = results[at] as PromiseSettledResult<readonly Answer[]>;
      const isAnswered = result.status === 'fulfilled';
      const own = isAnswered ? result.value : this.answerFor(part.steps, result.reason);
      place(part, own, this.answers);
      if (refuses(part.steps, own)) refused = true;
      else if (isAnswered) granted.push(part);
      else if (!this.answerFailed) failed ??= result;
    }
    return { refused, failed, passes: !refused && !failed, granted };
  }

  /**
   * Puts back what was taken.
   *
   * @throws what a part failed with, unless another refuses the group
   */
  async undo({ refused, failed, granted }: Taken<Name>): Promise<void> {
    await this.putBack(granted);
    if (failed && !refused) throw failed.reason;
  }

  /** The state after that is in the answers. */
  async putBack(parts: readonly Part<Name>[]): Promise<void> {
    await Promise.all(parts.map((part) => this.putBackPart(part)));
  }

  private async putBackPart({ steps, places, name }: Part<Name>): Promise<void> {
    const puts: Step[] = [];
    const own: number[] = [];
    for (const [i, step] of steps.entries()) {
      const at = places[i] as number;
      const answer = this.answers[at] as Answer;
      if (step.op !== 'take' || step.cost === 0 || !answer.allowed || answer.failure) continue;
      puts.push(putOf(step, answer));
      own.push(at);
    }
    if (puts.length === 0) return;
    try {
      const after = await this.ask(puts, name, true);
      for (const [i, answer] of after.entries()) {
        this.answers[own[i] as number] = { ...answer, allowed: true };
      }
    } catch {
      // Stays charged: too little is admitted, never too much.
    }
  }

  private answerFor(steps: readonly Step[], error: unknown): readonly Answer[] {
    if (this.answerFailed) return this.answerFailed(steps, error);
    return steps.map(() => ({ ...NOTHING_KNOWN, failure: error as Error }));
  }
}

const NOTHING_KNOWN = { allowed: true, nowUs: 0, tatUs: 0, tatNum: 0 };

function putOf(step: Step, answer: Answer): Step {
  return { ...step, op: 'put', receipt: receiptFrom(step.rule, answer, step.cost) };
}
