import type { CodecOf } from '../codec.js';
import lua from './leases.lua';

export const leases: CodecOf<'leases'> = {
  letter: 'p',
  lua: [lua],
  maker: 'leases',
  idOf: ({ lease }) => lease?.id ?? '',

  encode({ limit, open, leaseUs }, step, _, args) {
    args.push(step.lease?.critical ? '1' : '0', `${limit}`, `${open}`, `${leaseUs}`);
  },

  decodeAnswer(_, allowed, state, reply) {
    return { allowed, nowUs: reply.nowUs, used: state, critical: reply.count() };
  },
};
