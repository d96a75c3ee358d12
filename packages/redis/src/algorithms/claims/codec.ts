/** Claims in calls and replies; claims.lua does the rest. */

import type { Step } from '@spillway/core';
import type { ClaimsAnswer, ClaimsRule } from '@spillway/core/store';
import type { Codec, ReplyWords } from '../codec.js';
import lua from './claims.lua';

/** Behind a `k`: the owner, and what was kept. */
const RUNNING = ['running', /^k([\w-]{16})$/] as const;
const DONE = ['done', /^k([\w-]{16})([\x20-\x7e]{0,256})$/] as const;

export const claims: Codec<ClaimsRule> = {
  letter: 'c',
  lua: [lua],
  maker: 'claims',
  idOf({ op, claim }: Step): string {
    return `${claim?.owner ?? ''}${op === 'done' ? (claim?.note ?? '') : ''}`;
  },

  encode({ leaseUs, keepUs }: ClaimsRule, _step: Step, _op: number, args: string[]): void {
    args.push(`${leaseUs}`, `${keepUs}`);
  },

  read(_: ClaimsRule, allowed: boolean, place: number, reply: ReplyWords): ClaimsAnswer {
    const { nowUs } = reply;
    if (place === 0) return { allowed, nowUs, state: 'free', owner: '', endsUs: 0, note: '' };
    const endsUs = nowUs + reply.count();
    const [state, form] = place === 1 ? RUNNING : DONE;
    const [, owner = '', note = ''] = reply.text(form);
    return { allowed, nowUs, state, owner, endsUs, note };
  },
};
