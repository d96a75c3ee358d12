/** From the script's flat reply to answers. */

import type { Answer, SpillwayError, Step } from '@spillway/core';
import { failedGroup } from './failures.js';
import { onlyLooks } from './wire.js';

/** What a group is answered that met the script after its deadline: nothing was charged. */
export const LATE = 'late';

/** Reads a reply from front to back. */
export class ReplyReader {
  private readonly reply: readonly unknown[];
  private readonly nowUs: number;
  private at = 1;

  constructor(reply: readonly unknown[]) {
    this.reply = reply;
    this.nowUs = Number(reply[0]);
  }

  /** The answers to the next group, or the error that it failed with, or that it came too late. */
  next(steps: readonly Step[]): Answer[] | SpillwayError | typeof LATE {
    const first = this.reply[this.at];
    if (typeof first === 'string' && first.startsWith('!')) {
      this.at += 1;
      return first === '!late' ? LATE : failedGroup(first.slice(1));
    }
    const answers: Answer[] = new Array(steps.length);
    for (let i = 0; i < steps.length; i += 1) answers[i] = this.answer(steps[i] as Step);
    return answers;
  }

  private answer(step: Step): Answer {
    const { rule } = step;
    const { nowUs } = this;
    const word = this.number();
    const verdict = word % 2;
    const value = (word - verdict) / 2;
    const allowed = onlyLooks(step) ? step.op !== 'put' : verdict === 1;
    switch (rule.machine) {
      case 'gcra': {
        const num = rule.den > 1 ? this.number() : 0;
        const tatUs = value === 0 ? 0 : nowUs + value - 1;
        return { allowed, nowUs, tatUs, tatNum: value === 0 ? 0 : num };
      }
      case 'window': {
        const startUs = nowUs + this.number();
        const previous = rule.sliding ? this.number() : 0;
        return { allowed, nowUs, startUs, current: value, previous };
      }
      case 'log': {
        const freesUs = this.number();
        return { allowed, nowUs, used: value, freesUs, lastUs: this.number() };
      }
      case 'leases':
        return { allowed, nowUs, used: value, critical: this.number() };
    }
  }

  /** Clients may be set to give numbers as strings. */
  private number(): number {
    const value = Number(this.reply[this.at]);
    this.at += 1;
    return value;
  }
}
