import type { ClaimsAnswer } from '@spillway/core/store';
import type { CodecOf } from '../codec.js';
import lua from './claims.lua';

/** The states of a claim, indexed by the number in the reply. The pattern of a state matches the text in the reply. */
const HELD: readonly [State, ...State[]] = [
  ['free', /^(?!)/],
  ['running', /^k([\w-]{16})$/],
  ['done', /^k([\w-]{16})([\x20-\x7e]{0,256})$/],
];
type State = readonly [ClaimsAnswer['state'], RegExp];

export const claims: CodecOf<'claims'> = {
  letter: 'c',
  lua: [lua],
  maker: 'claims',
  idOf({ op, claim }) {
    return `${claim?.owner ?? ''}${op === 'done' ? (claim?.note ?? '') : ''}`;
  },

  encode({ leaseUs, keepUs }, _step, _op, args) {
    args.push(`${leaseUs}`, `${keepUs}`);
  },

  decodeAnswer(_, allowed, place, reply) {
    const { nowUs } = reply;
    if (place === 0) return { allowed, nowUs, state: 'free', owner: '', endsUs: 0, note: '' };
    const endsUs = nowUs + reply.count();
    const [state, form] = HELD[place] ?? HELD[0];
    const [, owner = '', note = ''] = reply.text(form);
    return { allowed, nowUs, state, owner, endsUs, note };
  },
};
