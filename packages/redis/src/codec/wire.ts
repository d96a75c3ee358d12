/** Writes groups of steps as arguments of the script. What many groups in a row have in common is sent once. */

import type { Step } from '@spillway/core';
import { sameRule } from '@spillway/core/store';
import { OPS, unitsOf } from '../algorithms/codec.js';
import { codecOf } from '../algorithms/codecs.js';

/** Writes the arguments that follow the keys. */
export class Encoder {
  // Most calls have the same steps as the call before, with other keys.
  private last: Shape = { steps: [], words: [], alone: undefined, isNamed: false };

  /** Appends the arguments for `groups` to `args`. */
  encode(groups: readonly Asked[], args: string[]): void {
    let from = 0;
    while (from < groups.length) {
      const shape = this.shapeOf((groups[from] as Asked).steps);
      let to = from + 1;
      while (to < groups.length && sameShape(shape.steps, (groups[to] as Asked).steps)) to += 1;
      if (shape.alone && to - from === groups.length) {
        for (const word of shape.alone) args.push(word);
        return;
      }
      args.push(`${to - from}`);
      for (const word of shape.words) args.push(word);
      if (shape.isNamed) encodeIds(groups.slice(from, to), args);
      from = to;
    }
  }

  private shapeOf(steps: readonly Step[]): Shape {
    if (!sameShape(steps, this.last.steps)) this.last = makeShape(steps);
    return this.last;
  }
}

/** A group, as far as it is written. */
interface Asked {
  readonly steps: readonly Step[];
}

/** What groups that differ only in limiters, keys and ids have in common. */
interface Shape {
  readonly steps: readonly Step[];
  readonly words: readonly string[];
  /** What is written in their place if the call has no others, where the script knows a shorter form. */
  readonly alone: readonly string[] | undefined;
  readonly isNamed: boolean;
}

function makeShape(steps: readonly Step[]): Shape {
  const words = [`${steps.length}`];
  for (const step of steps) encodeStep(step, words, steps.length > 1);
  return { steps, words, alone: takeAlone(steps, words), isNamed: steps.some(isNamed) };
}

/**
 * Of a group that is one take of one bucket only the numbers, as takes.lua reads them: those of fractions only where
 * there are any. In shadow or not is the same, as it can refuse only itself.
 */
function takeAlone(steps: readonly Step[], words: readonly string[]): string[] | undefined {
  const [step] = steps as readonly [Step];
  const { rule } = step;
  if (steps.length > 1 || rule.machine !== 'bucket') return undefined;
  if (step.op !== 'take' || onlyLooks(step)) return undefined;
  const numbers = words.slice(3);
  return rule.den > 1 ? numbers : numbers.slice(0, 2);
}

/** Whether two groups differ only in limiters, keys and ids. */
function sameShape(a: readonly Step[], b: readonly Step[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) {
    const one = a[i] as Step;
    const other = b[i] as Step;
    if (
      one.op !== other.op ||
      one.cost !== other.cost ||
      one.binding !== other.binding ||
      one.receipt !== other.receipt ||
      one.holdUs !== other.holdUs ||
      one.together !== other.together ||
      one.lease?.critical !== other.lease?.critical ||
      (one.rule !== other.rule && !sameRule(one.rule, other.rule))
    ) {
      return false;
    }
  }
  return true;
}

function encodeStep(step: Step, args: string[], hasOthers: boolean): void {
  const codec = codecOf(step.rule);
  const op = hasOthers && startsTogether(step) ? OPS.together : opOf(step);
  args.push(codec.letter, `${op}`);
  codec.encode(step.rule, step, op, args);
}

function isNamed({ rule }: Step): boolean {
  return codecOf(rule).idOf !== undefined;
}

/** The ids of each group, in the order of its steps. */
function encodeIds(groups: readonly { readonly steps: readonly Step[] }[], args: string[]): void {
  for (const { steps } of groups) {
    for (const step of steps) {
      const id = codecOf(step.rule).idOf?.(step);
      if (id !== undefined) args.push(id);
    }
  }
}

/** Steps that write nothing: a cost of 0 passes, a `put` without a grant gives nothing back, a `hold` for 0 is none. */
export function onlyLooks(step: Step): boolean {
  if (step.op === 'hold') return !step.holdUs;
  return step.op !== 'reset' && unitsOf(step) === 0;
}

/** A take above the burst starts never, so the others don't start with it. */
function startsTogether({ op, together, binding, cost, rule }: Step): boolean {
  const isTake = together === true && op === 'take' && binding && cost > 0;
  return isTake && rule.machine === 'queue' && cost <= rule.burst;
}

function opOf(step: Step): number {
  if (onlyLooks(step)) return step.op === 'put' ? OPS.noPut : OPS.look;
  return step.op === 'take' && !step.binding ? OPS.shadow : OPS[step.op];
}
