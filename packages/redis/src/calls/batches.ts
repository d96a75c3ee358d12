/** Puts all groups of one turn of the event loop into as few script calls as possible. */

import { afterThisTurn } from '../host.js';
import type { Group } from './group.js';

export class Batches {
  private readonly pass: (questions: readonly Group[]) => void;
  private readonly maxSteps: number;
  private readonly coalesce: boolean;
  private asked: Group[] = [];

  constructor(pass: (questions: readonly Group[]) => void, maxSteps: number, coalesce: boolean) {
    this.pass = pass;
    this.maxSteps = maxSteps;
    this.coalesce = coalesce;
  }

  ask(question: Group): void {
    if (!this.coalesce) {
      this.pass([question]);
      return;
    }
    this.asked.push(question);
    if (this.asked.length === 1) afterThisTurn(this.flush);
  }

  private readonly flush = (): void => {
    const { asked } = this;
    this.asked = [];
    if (asked.length === 1) this.pass(asked);
    else for (const questions of bySlot(asked)) this.cut(questions);
  };

  /** Makes calls of at most `maxSteps` steps. A larger group goes alone, in one call. */
  private cut(questions: readonly Group[]): void {
    let from = 0;
    let steps = 0;
    for (let at = 0; at < questions.length; at += 1) {
      const more = (questions[at] as Group).steps.length;
      if (at > from && steps + more > this.maxSteps) {
        this.pass(questions.slice(from, at));
        from = at;
        steps = 0;
      }
      steps += more;
    }
    this.pass(from === 0 ? questions : questions.slice(from));
  }
}

/**
 * The groups of one script call must have one hash slot. A call has one deadline, so groups that nobody waits for go in
 * calls of their own.
 */
function bySlot(questions: readonly Group[]): Iterable<readonly Group[]> {
  const first = questions[0] as Group;
  if (questions.every((question) => goTogether(question, first))) return [questions];
  const slots = new Map<number | string, Group[]>();
  for (const question of questions) {
    const { slot, isApart, deadlineUs } = question;
    const place = isApart ? `${slot} ${deadlineUs}` : slot;
    const others = slots.get(place);
    if (others) others.push(question);
    else slots.set(place, [question]);
  }
  return slots.values();
}

function goTogether(one: Group, other: Group): boolean {
  if (one.slot !== other.slot || one.isApart !== other.isApart) return false;
  return !one.isApart || one.deadlineUs === other.deadlineUs;
}
