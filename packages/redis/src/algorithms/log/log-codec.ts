import type { Answer, Step } from '@spillway/core';
import type { LogRule } from '@spillway/core/store';
import { type Codec, costWithin, OPS, type ReplyWords, unitsOf } from '../codec.js';
import lua from './log.lua';
import logPut from './log-put.lua';

export const log: Codec<LogRule> = {
  letter: 'l',
  lua: [logPut, lua],
  maker: 'log',

  encode({ limit, windowUs }: LogRule, step: Step, op: number, args: string[]): void {
    const cost = step.op === 'put' ? step.cost : costWithin(limit, step.cost);
    args.push(`${cost}`, `${limit}`, `${windowUs}`);
    // Both costs are sent: the answer says when the full cost would pass, even if less is refunded.
    if (op === OPS.put) args.push(`${step.receipt?.atUs ?? 0}`, `${unitsOf(step)}`);
  },

  decodeAnswer(_: LogRule, allowed: boolean, state: number, reply: ReplyWords): Answer {
    const freesUs = reply.number();
    return { allowed, nowUs: reply.nowUs, used: state, freesUs, lastUs: reply.number() };
  },
};
