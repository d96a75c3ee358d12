/** Writes groups of steps as arguments of the script. What many groups in a row have in common is sent once. */

import type { Step } from '@spillway/core';
import { type BucketRule, mulDiv, type Op, refillTime, sameRule } from '@spillway/core/store';

/** As numbered in shared.lua. A `take` with `binding: false` is 2. */
const OP_CODES: Record<Op, number> = { take: 1, record: 3, look: 4, put: 5, reset: 6 };
const SHADOW_TAKE = 2;

/** More than any bucket holds: a larger number would give nothing more back. */
const MOST_REFILL_US = 2 ** 52;

/** Writes the arguments that follow the keys. */
export class Encoder {
  // Most calls have the same steps as the call before, with other keys.
  private lastShape: readonly Step[] = [];
  private lastWords: readonly string[] = [];

  /** Appends the arguments for `groups` to `args`. */
  encode(groups: readonly { readonly steps: readonly Step[] }[], args: string[]): void {
    let from = 0;
    while (from < groups.length) {
      const shape = (groups[from] as { steps: readonly Step[] }).steps;
      let to = from + 1;
      while (to < groups.length && sameShape(shape, groups[to]?.steps ?? [])) to += 1;
      args.push(`${to - from}`);
      for (const word of this.wordsOf(shape)) args.push(word);
      if (shape.some(namesLease)) encodeLeases(groups.slice(from, to), args);
      from = to;
    }
  }

  private wordsOf(shape: readonly Step[]): readonly string[] {
    if (!sameShape(shape, this.lastShape)) {
      const words = [`${shape.length}`];
      for (const step of shape) encodeStep(step, words);
      this.lastShape = shape;
      this.lastWords = words;
    }
    return this.lastWords;
  }
}

/** Whether two groups differ only in limiters and keys. */
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
      one.lease?.critical !== other.lease?.critical ||
      (one.rule !== other.rule && !sameRule(one.rule, other.rule))
    ) {
      return false;
    }
  }
  return true;
}

function encodeStep(step: Step, args: string[]): void {
  const { rule, op, cost } = step;
  const code = codeOf(step);
  const atUs = step.receipt?.atUs ?? 0;
  switch (rule.machine) {
    case 'bucket': {
      const refill = op === 'put' ? trueRefillTime(rule, cost) : refillTime(rule, cost);
      args.push('g', `${code}`, `${refill.us}`, `${rule.tolUs}`, `${rule.den}`);
      if (rule.den > 1) args.push(`${refill.num}`, `${rule.tolNum}`);
      if (code === OP_CODES.put) args.push(`${atUs}`, `${step.receipt?.num ?? 0}`);
      break;
    }
    case 'window':
      args.push('w', `${code}`, `${costFor(op, cost, rule.limit)}`);
      args.push(`${rule.limit}`, `${rule.windowUs}`, rule.sliding ? '1' : '0');
      if (code === OP_CODES.put) args.push(`${atUs}`);
      break;
    case 'log':
      args.push('l', `${code}`, `${costFor(op, cost, rule.limit)}`);
      args.push(`${rule.limit}`, `${rule.windowUs}`);
      if (code === OP_CODES.put) args.push(`${atUs}`);
      break;
    case 'leases':
      args.push('p', `${code}`, step.lease?.critical ? '1' : '0');
      args.push(`${rule.limit}`, `${rule.open}`, `${rule.leaseUs}`);
  }
}

function namesLease({ rule }: Step): boolean {
  return rule.machine === 'leases';
}

/** The leases of each group, in the order of its steps: they differ even where all else is the same. */
function encodeLeases(
  groups: readonly { readonly steps: readonly Step[] }[],
  args: string[],
): void {
  for (const { steps } of groups) {
    for (const step of steps) if (namesLease(step)) args.push(step.lease?.id ?? '');
  }
}

/** Steps that write nothing: a cost of 0 passes, and a `put` without a grant gives nothing back. */
export function onlyLooks({ op, cost, rule, receipt, lease }: Step): boolean {
  const grant = rule.machine === 'leases' ? lease : receipt;
  return (cost === 0 && op !== 'reset') || (op === 'put' && grant === undefined);
}

function codeOf(step: Step): number {
  const { op, lease } = step;
  const holdsNothing = namesLease(step) && lease === undefined && op !== 'reset';
  if (holdsNothing || onlyLooks(step)) return OP_CODES.look;
  return op === 'take' && !step.binding ? SHADOW_TAKE : OP_CODES[op];
}

/** A cost that can never pass is sent as the limit + 1, so that no larger number is needed. */
function costFor(op: Op, cost: number, limit: number): number {
  return op === 'put' ? cost : Math.min(cost, limit + 1);
}

/**
 * Like {@link refillTime}, but right also for a cost above the burst: such a cost may have been recorded, up to the
 * burst.
 */
function trueRefillTime(rule: BucketRule, cost: number): { us: number; num: number } {
  const { whole, rest } = mulDiv(cost, rule.period, rule.den);
  return whole >= MOST_REFILL_US ? { us: MOST_REFILL_US, num: 0 } : { us: whole, num: rest };
}
