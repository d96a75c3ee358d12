/**
 * Groups whose steps lie in several parts of a store. They charge all or nothing: if a part rejects, the charges of the
 * others are refunded.
 */

import { groupPasses } from '../algorithms/group.js';
import { receiptOfStep } from '../algorithms/receipt.js';
import { getOrMake } from '../base/get-or-make.js';
import type { Answer } from '../contract/rule.js';
import type { Step } from '../contract/store.js';

/** The steps of a group that are sent together. */
export interface Part<Name> {
  /** Identifies the part, such as a shard or a hash slot. */
  readonly name: Name;
  readonly steps: readonly Step[];
  /** The place of each step in the whole group. */
  readonly places: readonly number[];
}

export function partsOf<Name>(
  steps: readonly Step[],
  nameOf: (step: Step, place: number) => Name,
): Part<Name>[] {
  const parts = new Map<Name, { name: Name; steps: Step[]; places: number[] }>();
  for (const [place, step] of steps.entries()) {
    const name = nameOf(step, place);
    const part = getOrMake(parts, name, () => ({ name, steps: [], places: [] }));
    part.steps.push(step);
    part.places.push(place);
  }
  return [...parts.values()];
}

export function asLook<Name>(
  part: Part<Name>,
  looks: (step: Step) => boolean = charges,
): Part<Name> {
  const lookFor = (step: Step): Step => (looks(step) ? { ...step, op: 'look' } : step);
  return { ...part, steps: part.steps.map(lookFor) };
}

function charges({ op, cost }: Step): boolean {
  return op === 'take' && cost > 0;
}

export function place<Name>(part: Part<Name>, own: readonly Answer[], answers: Answer[]): void {
  for (const [i, at] of part.places.entries()) answers[at] = own[i] as Answer;
}

export function anyRejects(steps: readonly Step[], answers: readonly Answer[]): boolean {
  return !groupPasses(steps, (_, place) => answers[place]?.allowed === true);
}

/** Sends steps to a part. With `always`, the steps are refunds, which are sent even after the deadline. */
type Ask<Name> = (
  steps: readonly Step[],
  name: Name,
  always: boolean,
) => readonly Answer[] | Promise<readonly Answer[]>;

/**
 * Sends all parts at once and returns the answers in the order of the whole group. If a part rejects, the charges of
 * the others are refunded. Until then, these charges may cause rejections of other callers. Steps that count distinct
 * items only look them up at first, and add them in a second call once all parts pass.
 *
 * @param answerFailed answers the steps of a failed part. If omitted, the group fails with the error. But if another
 * part rejects the group, the failed steps get answers with `failure`
 */
export async function askParts<Name>(
  parts: readonly Part<Name>[],
  ask: Ask<Name>,
  answerFailed?: (steps: readonly Step[], error: unknown) => readonly Answer[],
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  const granted: Part<Name>[] = [];
  let rejected = false;
  let failed: PromiseRejectedResult | undefined;

  /**
   * Asks the parts, and returns whether the group still passes.
   *
   * @param own the parts with their original steps
   * @param sent the parts to send, in which `look` steps may replace `take` steps
   */
  async function takeParts(own: readonly Part<Name>[], sent = own): Promise<boolean> {
    const results = await Promise.allSettled(
      sent.map(async ({ steps, name }) => ask(steps, name, false)),
    );
    for (const [at, result] of results.entries()) {
      const part = own[at] as Part<Name>;
      const asked = sent[at] as Part<Name>;
      const isAnswered = result.status === 'fulfilled';
      const told = isAnswered
        ? result.value
        : (answerFailed ?? nothingKnown)(part.steps, result.reason);
      place(part, told, answers);
      if (isAnswered && !anyRejects(asked.steps, told)) granted.push(asked);
      if (anyRejects(part.steps, told)) rejected = true;
      else if (!isAnswered && !answerFailed) failed ??= result;
    }
    return !rejected && !failed;
  }

  // A single part is decided atomically, so its rejections are final.
  const isSpread = parts.length > 1;
  // Items are added only after all parts pass. Otherwise, groups that are rejected but repeat each other's items would
  // fill a limit, because an item that was repeated can't be removed.
  const addsItems = (step: Step) => isSpread && charges(step) && step.rule.machine === 'distinct';
  const looks = parts.map((part) => asLook(part, addsItems));
  const passes =
    (await takeParts(parts, looks)) && (await takeParts(allowedIn(parts, answers, addsItems)));
  if (passes) return answers;
  const charged = allowedIn(granted, answers, charges);
  await Promise.all(charged.map((part) => putBack(part, answers, ask)));
  if (failed && !rejected) throw failed.reason;
  // Rejections must not be cached: they may be caused by charges of another group that was rejected too, and these
  // charges will be refunded.
  return isSpread
    ? answers.map((answer) => (answer.allowed ? answer : { ...answer, provisional: true }))
    : answers;
}

function allowedIn<Name>(
  parts: readonly Part<Name>[],
  answers: readonly Answer[],
  wanted: (step: Step) => boolean,
): Part<Name>[] {
  return parts.flatMap(({ name, steps, places }) => {
    const isWanted = (_: unknown, i: number) => {
      const { allowed, failure } = answers[places[i] as number] as Answer;
      return wanted(steps[i] as Step) && allowed && !failure;
    };
    const own = steps.filter(isWanted);
    return own.length > 0 ? { name, steps: own, places: places.filter(isWanted) } : [];
  });
}

async function putBack<Name>(part: Part<Name>, answers: Answer[], ask: Ask<Name>): Promise<void> {
  const { name, steps, places } = part;
  const puts = steps.map((step, i): Step => {
    const receipt = receiptOfStep(step, answers[places[i] as number] as Answer);
    return { ...step, op: 'put', cost: receipt.units, receipt };
  });
  try {
    const after = await ask(puts, name, true);
    const told = after.map((answer) => ({ ...answer, allowed: true }));
    place(part, told, answers);
  } catch {
    // If the refund fails, too little is admitted, never too much.
  }
}

function nothingKnown(steps: readonly Step[], error: unknown): readonly Answer[] {
  return steps.map(() => ({ ...NOTHING_KNOWN, failure: error as Error }));
}

export const NOTHING_KNOWN: Answer = { allowed: true, nowUs: 0, tatUs: 0, tatNum: 0 };
