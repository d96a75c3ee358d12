/** Encodes groups of steps for the script and decodes its replies. Arguments that groups share are sent once. */

import type { Answer, Clock, SpillwayError, Step } from '@spillway/core';
import { sameRule } from '@spillway/core/store';
import { OPS, type ReplyWords, unitsOf } from '../algorithms/codec.js';
import { codecOf } from '../algorithms/codecs.js';
import { failedGroup, noReply } from '../failures.js';

export class Encoder {
  // The last shape is reused, because most calls have the same steps as the previous one, with other keys.
  private last: Shape = { steps: [], words: [], short: undefined, isNamed: false, isTimed: false };

  encode(groups: readonly Asked[], args: string[], clock: Clock): void {
    let from = 0;
    while (from < groups.length) {
      const shape = this.shapeOf((groups[from] as Asked).steps, clock);
      let to = from + 1;
      while (to < groups.length && sameShape(shape.steps, (groups[to] as Asked).steps)) to += 1;
      if (shape.short && to - from === groups.length) {
        for (const word of shape.short) args.push(word);
        return;
      }
      args.push(`${to - from}`);
      for (const word of shape.words) args.push(word);
      if (shape.isNamed) encodeIds(groups.slice(from, to), args);
      from = to;
    }
  }

  private shapeOf(steps: readonly Step[], clock: Clock): Shape {
    const { last } = this;
    if (last.isTimed || !sameShape(steps, last.steps)) this.last = makeShape(steps, clock);
    return this.last;
  }
}

interface Asked {
  readonly steps: readonly Step[];
}

interface Shape {
  readonly steps: readonly Step[];
  readonly words: readonly string[];
  readonly short: readonly string[] | undefined;
  readonly isNamed: boolean;
  readonly isTimed: boolean;
}

function makeShape(steps: readonly Step[], clock: Clock): Shape {
  const words = [`${steps.length}`];
  for (const step of steps) encodeStep(step, words, clock, steps.length > 1);
  const isTimed = steps.some(({ rule }) => codecOf(rule).isTimed);
  const isNamed = steps.some(({ rule }) => codecOf(rule).idOf);
  return { steps, words, short: takeAlone(steps, words), isNamed, isTimed };
}

/**
 * The short form for a group of one take of one bucket: only the numbers, as takes.lua reads them. Shadow mode is left
 * out, because it matters only to the other steps of a group. Undefined for other groups.
 */
function takeAlone(steps: readonly Step[], words: readonly string[]): string[] | undefined {
  const [step] = steps as readonly [Step];
  const { rule } = step;
  if (steps.length > 1 || rule.machine !== 'bucket' || rule.deepest) return undefined;
  if (step.op !== 'take' || onlyLooks(step)) return undefined;
  const numbers = words.slice(3);
  return rule.den > 1 ? numbers : numbers.slice(0, 2);
}

function sameShape(a: readonly Step[], b: readonly Step[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) {
    const one = a[i] as Step;
    const other = b[i] as Step;
    if (
      one.op !== other.op ||
      one.cost !== other.cost ||
      one.owed !== other.owed ||
      one.binding !== other.binding ||
      one.receipt !== other.receipt ||
      one.holdUs !== other.holdUs ||
      one.together !== other.together ||
      one.period !== other.period ||
      one.lease?.critical !== other.lease?.critical ||
      (one.rule !== other.rule && !sameRule(one.rule, other.rule))
    ) {
      return false;
    }
  }
  return true;
}

function encodeStep(step: Step, args: string[], clock: Clock, hasOthers: boolean): void {
  const codec = codecOf(step.rule);
  const op = hasOthers && startsTogether(step) ? OPS.together : opOf(step);
  const { letter, debtLetter = letter } = codec;
  args.push(step.rule.debt === undefined ? letter : debtLetter, `${op}`);
  codec.encode(step.rule, step, op, args, clock);
}

function encodeIds(groups: readonly Asked[], args: string[]): void {
  for (const { steps } of groups) {
    for (const step of steps) {
      const id = codecOf(step.rule).idOf?.(step);
      if (id !== undefined) args.push(id);
    }
  }
}

/**
 * Whether a step has no effect, because it costs 0, is a `put` without a grant, or is a `hold` with the length 0. False
 * for a look with a cost.
 */
function onlyLooks(step: Step): boolean {
  if (step.op === 'hold') return !step.holdUs;
  return step.op !== 'reset' && unitsOf(step) === 0;
}

/** Whether a step is one of the takes that start together. A take above the burst never starts. */
function startsTogether({ op, together, binding, cost, rule }: Step): boolean {
  const isTake = together === true && op === 'take' && binding && cost > 0;
  return isTake && rule.machine === 'queue' && cost <= rule.burst;
}

function opOf(step: Step): number {
  if (onlyLooks(step)) return step.op === 'put' ? OPS.noPut : OPS.look;
  return step.op === 'take' && !step.binding ? OPS.shadow : OPS[step.op];
}

/** A group that reached the script after its deadline. Nothing was charged for it. */
export const LATE = 'late';

export type Result = readonly Answer[] | SpillwayError | typeof LATE;

interface Reply {
  readonly nowUs: number;
  readonly results: readonly Result[];
}

/** @throws SpillwayError `SPW_STORE_ERROR` if the reply is invalid, because a proxy or the client has changed it */
export function readReply(reply: unknown, groups: readonly Asked[]): Reply {
  if (!Array.isArray(reply)) throw noReply();
  return new ReplyReader(reply).readReply(groups);
}

const INTEGER = /^-?\d{1,16}$/;

class ReplyReader implements ReplyWords {
  private readonly reply: readonly unknown[];
  readonly nowUs: number;
  private at = 0;

  constructor(reply: readonly unknown[]) {
    this.reply = reply;
    this.nowUs = this.number();
  }

  readReply(groups: readonly Asked[]): Reply {
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
