import { type CodecOf, costWithin, OPS, unitsOf } from '../codec.js';
import lua from './log.lua';
import logPut from './log-put.lua';

export const log: CodecOf<'log'> = {
  letter: 'l',
  lua: [logPut, lua],
  maker: 'log',

  encode({ limit, windowUs }, step, op, args) {
    const cost = step.op === 'put' ? step.cost : costWithin(limit, step.cost);
    args.push(`${cost}`, `${limit}`, `${windowUs}`);
    // Both costs are sent: the answer says when the full cost would pass, even if less is refunded.
    if (op === OPS.put) args.push(`${step.receipt?.atUs ?? 0}`, `${unitsOf(step)}`);
  },

  decodeAnswer(_, allowed, state, reply) {
    const freesUs = reply.number();
    return { allowed, nowUs: reply.nowUs, used: state, freesUs, lastUs: reply.number() };
  },
};
