import type { Answer, Step } from '@spillway/core';
import type { DistinctRule } from '@spillway/core/store';
import { type Codec, OPS, type ReplyWords, unitsOf } from '../codec.js';
import lua from './distinct.lua';

export const distinct: Codec<DistinctRule> = {
  letter: 'i',
  lua: [lua],
  maker: 'distinct',
  idOf: ({ items = [] }: Step) => items.join(''),

  encode({ limit, windowUs }: DistinctRule, step: Step, op: number, args: string[]): void {
    args.push(`${limit}`, `${windowUs}`);
    if (op === OPS.put) args.push(`${step.receipt?.atUs ?? 0}`, `${unitsOf(step)}`);
  },

  decodeAnswer(_: DistinctRule, allowed: boolean, state: number, reply: ReplyWords): Answer {
    const freesUs = reply.number();
    return { allowed, nowUs: reply.nowUs, used: state, freesUs, lastUs: reply.number() };
  },
};
