/** The sliding window log in calls and replies; log.lua and log-put.lua do the rest. */

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
    // The answer tells when the whole cost would pass, also where less than that is given back.
    if (op === OPS.put) args.push(`${step.receipt?.atUs ?? 0}`, `${unitsOf(step)}`);
  },

  read(_: LogRule, allowed: boolean, state: number, reply: ReplyWords): Answer {
    const freesUs = reply.number();
    return { allowed, nowUs: reply.nowUs, used: state, freesUs, lastUs: reply.number() };
  },
};
