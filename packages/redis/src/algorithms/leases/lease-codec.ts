import type { Answer, Step } from '@spillway/core';
import type { LeasesRule } from '@spillway/core/store';
import type { Codec, ReplyWords } from '../codec.js';
import lua from './leases.lua';

export const leases: Codec<LeasesRule> = {
  letter: 'p',
  lua: [lua],
  maker: 'leases',
  idOf: ({ lease }: Step) => lease?.id ?? '',

  encode({ limit, open, leaseUs }: LeasesRule, step: Step, _: number, args: string[]): void {
    args.push(step.lease?.critical ? '1' : '0', `${limit}`, `${open}`, `${leaseUs}`);
  },

  decodeAnswer(_: LeasesRule, allowed: boolean, state: number, reply: ReplyWords): Answer {
    return { allowed, nowUs: reply.nowUs, used: state, critical: reply.count() };
  },
};
