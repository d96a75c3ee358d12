/** Claims in calls and replies; claims.lua does the rest. */

import type { Step } from '@spillway/core';
import type { ClaimsAnswer, ClaimsRule } from '@spillway/core/store';
import { noReply } from '../../failures.js';
import type { Codec, ReplyWords } from '../codec.js';
import lua from './claims.lua';

const STATES: readonly ClaimsAnswer['state'][] = ['free', 'running', 'done'];

/** The owner and the note of a claim that is not free. */
const HELD = /^k([\w-]{16})([\x20-\x7e]{0,256})$/;

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
    const state = STATES[place];
    if (state === undefined) throw noReply();
    if (state === 'free') return { allowed, nowUs, state, owner: '', endsUs: 0, note: '' };
    const endsUs = nowUs + reply.count();
    const [, owner, note = ''] = HELD.exec(reply.text()) ?? [];
    if (owner === undefined || (state === 'running' && note !== '')) throw noReply();
    return { allowed, nowUs, state, owner, endsUs, note };
  },
};
