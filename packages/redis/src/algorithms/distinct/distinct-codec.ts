import type { DistinctRule } from '@spillway/core/store';
import { type Codec, OPS, unitsOf } from '../codec.js';
import lua from './distinct.lua';

export const distinct: Codec<DistinctRule> = {
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
