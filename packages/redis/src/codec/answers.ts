/** Decodes the script's reply, a flat list, into answers. */

import type { Answer, SpillwayError, Step } from '@spillway/core';
import type { ReplyWords } from '../algorithms/codec.js';
import { codecOf } from '../algorithms/codecs.js';
import { failedGroup, noReply } from '../failures.js';
import { onlyLooks } from './wire.js';

/** The result of a group that reached the script after its deadline. Nothing was charged. */
export const LATE = 'late';

/** The result of one group: its answers, its error, or {@link LATE}. */
export type Result = readonly Answer[] | SpillwayError | typeof LATE;

/** The whole reply. */
interface Reply {
  /** The server's time. */
  readonly nowUs: number;
  /** One for each group. */
  readonly results: readonly Result[];
}

/**
 * Reads the script's reply to `groups`.
 *
 * @throws SpillwayError `SPW_STORE_ERROR` if it deviates in any way: something between us and Redis has changed it
 */
export function readReply(
  reply: unknown,
  groups: readonly { readonly steps: readonly Step[] }[],
): Reply {
  if (!Array.isArray(reply)) throw noReply();
  return new ReplyReader(reply).readReply(groups);
}

const INTEGER = /^-?\d{1,16}$/;

/** Reads a reply from front to back. */
class ReplyReader implements ReplyWords {
  private readonly reply: readonly unknown[];
  readonly nowUs: number;
  private at = 0;

  constructor(reply: readonly unknown[]) {
    this.reply = reply;
    this.nowUs = this.number();
  }

  readReply(groups: readonly { readonly steps: readonly Step[] }[]): Reply {
    const results: Result[] = [];
    for (const { steps } of groups) results.push(this.next(steps));
    if (this.at !== this.reply.length) throw noReply();
    return { nowUs: this.nowUs, results };
  }

  private next(steps: readonly Step[]): Result {
    const first = this.reply[this.at];
    if (typeof first === 'string' && first.startsWith('!')) {
      this.at += 1;
      return first === '!late' ? LATE : failedGroup(first.slice(1));
    }
    const answers: Answer[] = [];
    for (const step of steps) answers.push(this.readAnswer(step));
    return answers;
  }

  private readAnswer(step: Step): Answer {
    const word = this.count();
    const verdict = word % 2;
    const state = (word - verdict) / 2;
    const allowed = onlyLooks(step) ? step.op !== 'put' : verdict === 1;
    return codecOf(step.rule).decodeAnswer(step.rule, allowed, state, this, step);
  }

  /** A non-negative integer. */
  count(): number {
    const value = this.number();
    if (value < 0) throw noReply();
    return value;
  }

  text(form: RegExp): readonly string[] {
    const word = this.reply[this.at];
    this.at += 1;
    const parts = typeof word === 'string' ? form.exec(word) : null;
    if (!parts) throw noReply();
    return parts;
  }

  /** Clients may be configured to return numbers as strings or bigints. */
  number(): number {
    const word = this.reply[this.at];
    this.at += 1;
    const value = typeof word === 'number' ? word : numberIn(word);
    if (!Number.isSafeInteger(value)) throw noReply();
    return value;
  }
}

function numberIn(word: unknown): number {
  const isNumber = typeof word === 'bigint' || (typeof word === 'string' && INTEGER.test(word));
  return isNumber ? Number(word) : Number.NaN;
}
