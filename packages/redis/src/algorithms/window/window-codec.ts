import type { WindowRule } from '@spillway/core/store';
import { type CodecOf, costWithin, OPS, unitsOf } from '../codec.js';
import lua from './window.lua';

/** The numbers of the kinds of windows, as in window.lua. */
const KINDS: Readonly<Record<WindowRule['kind'], string>> = {
  fixed: '0',
  sliding: '1',
  anchored: '2',
};

export const window: CodecOf<'window'> = {
  letter: 'w',
  lua: [lua],
  maker: 'window',

  encode({ limit, windowUs, kind }, step, op, args) {
    const cost = step.op === 'put' ? unitsOf(step) : costWithin(limit, step.cost);
    args.push(`${cost}`, `${limit}`, `${windowUs}`, KINDS[kind]);
    if (op === OPS.put) args.push(`${step.receipt?.atUs ?? 0}`);
  },

  decodeAnswer({ kind }, allowed, state, reply) {
    const { nowUs } = reply;
    const startUs = nowUs + reply.number();
    const previous = kind === 'sliding' ? reply.count() : 0;
    return { allowed, nowUs, startUs, current: state, previous };
  },
};
