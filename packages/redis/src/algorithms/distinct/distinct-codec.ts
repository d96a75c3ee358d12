import { type CodecOf, OPS, unitsOf } from '../codec.js';
import lua from './distinct.lua';

export const distinct: CodecOf<'distinct'> = {
  letter: 'i',
  lua: [lua],
  maker: 'distinct',
  idOf: ({ items = [] }) => items.join(''),

  encode({ limit, windowUs }, step, op, args) {
    args.push(`${limit}`, `${windowUs}`);
    if (op === OPS.put) args.push(`${step.receipt?.atUs ?? 0}`, `${unitsOf(step)}`);
  },

  decodeAnswer(_, allowed, state, reply) {
    const freesUs = reply.number();
    return { allowed, nowUs: reply.nowUs, used: state, freesUs, lastUs: reply.number() };
  },
};
