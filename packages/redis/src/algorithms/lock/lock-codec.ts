import { type CodecOf, costWithin, OPS, unitsOf } from '../codec.js';
import lua from './lock.lua';

export const lock: CodecOf<'lock'> = {
  letter: 'x',
  lua: [lua],
  maker: 'lock',

  encode(rule, step, op, args) {
    const { limit, windowUs, forgetUs, locksUs } = rule;
    const cost = step.op === 'put' ? unitsOf(step) : costWithin(limit, step.cost);
    args.push(`${cost}`, `${limit}`, `${windowUs}`, `${forgetUs}`, `${locksUs.length}`);
    for (const us of locksUs) args.push(`${us}`);
    if (op === OPS.put) args.push(`${step.receipt?.atUs ?? 0}`);
    if (op === OPS.hold) args.push(`${step.holdUs}`);
  },

  decodeAnswer(_, allowed, current, reply) {
    const { nowUs } = reply;
    const endUs = nowUs + reply.number();
    const leftUs = reply.count();
    return { allowed, nowUs, endUs, current, untilUs: leftUs > 0 ? nowUs + leftUs : 0 };
  },
};
