/** Puts all groups that are asked in one turn of the event loop into as few script calls as possible. */

import { afterThisTurn } from './host.js';
import type { Question } from './question.js';

export class Batches {
  private readonly pass: (questions: readonly Question[]) => void;
  private readonly maxSteps: number;
  private readonly coalesce: boolean;
  private asked: Question[] = [];

  constructor(pass: (questions: readonly Question[]) => void, maxSteps: number, coalesce: boolean) {
    this.pass = pass;
    this.maxSteps = maxSteps;
    this.coalesce = coalesce;
  }

  ask(question: Question): void {
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

  /** Calls of at most `maxSteps` steps; a larger group goes alone, whole. */
  private cut(questions: readonly Question[]): void {
    let from = 0;
    let steps = 0;
    for (let at = 0; at < questions.length; at += 1) {
      const more = (questions[at] as Question).steps.length;
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

/** A script call must keep to one hash slot; and it has one deadline, so that what is in no hurry goes apart. */
function bySlot(questions: readonly Question[]): Iterable<readonly Question[]> {
  const first = questions[0] as Question;
  if (questions.every((question) => goTogether(question, first))) return [questions];
  const slots = new Map<number | string, Question[]>();
  for (const question of questions) {
    const { slot, isApart, deadlineUs } = question;
    const place = isApart ? `${slot} ${deadlineUs}` : slot;
    const others = slots.get(place);
    if (others) others.push(question);
    else slots.set(place, [question]);
  }
  return slots.values();
}

function goTogether(one: Question, other: Question): boolean {
  if (one.slot !== other.slot || one.isApart !== other.isApart) return false;
  return !one.isApart || one.deadlineUs === other.deadlineUs;
}
