/**
 * Groups whose steps lie in several parts of a store. They charge all or nothing: if a part rejects, the others are
 * refunded.
 */

import { groupPasses } from '../algorithms/group.js';
import { receiptOfStep } from '../algorithms/receipt.js';
import type { Answer } from '../contract/ask.js';
import type { Step } from '../contract/store.js';

/** The steps of a group that are sent together. */
export interface Part<Name> {
  /** Identifies the part, such as a shard or a hash slot. */
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

/** The same part with `look` in place of each `take`. */
export function asLook<Name>(part: Part<Name>): Part<Name> {
  const lookFor = (step: Step): Step => (step.op === 'take' ? { ...step, op: 'look' } : step);
  return { ...part, steps: part.steps.map(lookFor) };
}

/** Copies the answers of a part to the places of its steps in the whole group. */
export function place<Name>(part: Part<Name>, own: readonly Answer[], answers: Answer[]): void {
  for (const [i, at] of part.places.entries()) answers[at] = own[i] as Answer;
}

/** Whether the answers reject the group. */
export function anyRejects(steps: readonly Step[], answers: readonly Answer[]): boolean {
  return !groupPasses(steps, (_, place) => answers[place]?.allowed === true);
}

/** `always`: the steps are refunds, which are sent even after the deadline. */
type Ask<Name> = (
  steps: readonly Step[],
  name: Name,
  always: boolean,
) => readonly Answer[] | Promise<readonly Answer[]>;

/** Answers for a part that failed, without charging. */
type AnswerFailed = (steps: readonly Step[], error: unknown) => readonly Answer[];

/**
 * Sends all parts at once. If one part rejects, or fails and its `answerFailed` rejects, the charges of the others are
 * refunded. Until then, these charges may cause rejections of other callers: for a moment too little is admitted, never
 * too much. Returns the answers in the order of the whole group.
 *
 * @param answerFailed without it, a failed part fails the group. If another part rejects the group, it is rejected
 * instead, and the steps of the failed part are answered with `failure`
 */
export async function askParts<Name>(
  parts: readonly Part<Name>[],
  ask: Ask<Name>,
  answerFailed?: AnswerFailed,
): Promise<readonly Answer[]> {
  const group = new GroupInParts(ask, answerFailed);
  const taken = await group.takeParts(parts);
  if (taken.passes) return group.answers;
  await group.undo(taken);
  // A single part is decided atomically, so its rejections are final.
  return parts.length > 1 ? group.answers.map(asProvisional) : group.answers;
}

/** The rejection may be due to another group, whose charges are refunded a moment later, like those of this group. */
function asProvisional(answer: Answer): Answer {
  return answer.allowed ? answer : { ...answer, provisional: true };
}

/** The outcome of sending all parts. */
interface Taken<Name> {
  readonly rejected: boolean;
  /** The error of the first part that failed without an `answerFailed`. */
  readonly failed: PromiseRejectedResult | undefined;
  /** Whether no part rejected or failed. */
  readonly passes: boolean;
  /** The parts that may have been charged. */
  readonly granted: readonly Part<Name>[];
}

/** One group while it is decided. */
class GroupInParts<Name> {
  readonly answers: Answer[] = [];
  private readonly ask: Ask<Name>;
  private readonly answerFailed: AnswerFailed | undefined;

  constructor(ask: Ask<Name>, answerFailed: AnswerFailed | undefined) {
    this.ask = ask;
    this.answerFailed = answerFailed;
  }

  /** Sends all parts at once, without refunding anything. */
  async takeParts(parts: readonly Part<Name>[]): Promise<Taken<Name>> {
    const results = await Promise.allSettled(
      parts.map(async ({ steps, name }) => this.ask(steps, name, false)),
    );
    const granted: Part<Name>[] = [];
    let rejected = false;
    let failed: PromiseRejectedResult | undefined;
    for (const [at, part] of parts.entries()) {
      const result = results[at] as PromiseSettledResult<readonly Answer[]>;
      const isAnswered = result.status === 'fulfilled';
      const own = isAnswered ? result.value : this.answerFor(part.steps, result.reason);
      place(part, own, this.answers);
      if (anyRejects(part.steps, own)) rejected = true;
      else if (isAnswered) granted.push(part);
      else if (!this.answerFailed) failed ??= result;
    }
    return { rejected, failed, passes: !rejected && !failed, granted };
  }

  /**
   * Refunds the charges.
   *
   * @throws the error of a failed part, unless another part rejects the group
   */
  async undo({ rejected, failed, granted }: Taken<Name>): Promise<void> {
    await this.putBack(granted);
    if (failed && !rejected) throw failed.reason;
  }

  /** Refunds the charges of these parts, and updates the answers to the state after that. */
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
      // The charge stays: too little is admitted, never too much.
    }
  }

  private answerFor(steps: readonly Step[], error: unknown): readonly Answer[] {
    if (this.answerFailed) return this.answerFailed(steps, error);
    return steps.map(() => ({ ...NOTHING_KNOWN, failure: error as Error }));
  }
}

const NOTHING_KNOWN = { allowed: true, nowUs: 0, tatUs: 0, tatNum: 0 };

function putOf(step: Step, answer: Answer): Step {
  const receipt = receiptOfStep(step, answer);
  return { ...step, op: 'put', cost: receipt.units, receipt };
}
