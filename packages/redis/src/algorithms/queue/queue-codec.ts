import { refillTime } from '@spillway/core/store';
import { trueRefillTime } from '../bucket/bucket-codec.js';
import { type CodecOf, OPS, unitsOf } from '../codec.js';
import lua from './queue.lua';

export const queue: CodecOf<'queue'> = {
  letter: 'q',
  lua: [lua],
  maker: 'queue',

  encode(rule, step, op, args) {
    const cost = unitsOf(step);
    const { den, tolUs, tolNum, waitUs, leadUs, leadNum } = rule;
    const isOver = cost > rule.burst;
    const charges = step.op === 'put' || step.op === 'record';
    const refill = charges ? trueRefillTime(rule, cost) : refillTime(rule, cost);
    // A cost above the burst never passes, whatever the maximum wait.
    const us = isOver && !charges ? refill.us + waitUs : refill.us;
    args.push(`${us}`, `${tolUs + waitUs}`, `${leadUs}`, `${den}`);
    if (den > 1) args.push(`${refill.num}`, `${tolNum}`, `${leadNum}`);
    if (op === OPS.together) args.push(`${waitUs}`);
    if (op === OPS.put) args.push(`${step.receipt?.atUs ?? 0}`, `${step.receipt?.num ?? 0}`);
    if (op === OPS.hold) args.push(`${step.holdUs}`);
    if (op === OPS.record) args.push(isOver ? '1' : '0');
  },

  decodeAnswer({ den }, allowed, state, reply) {
    const { nowUs } = reply;
    const pauseUs = reply.count();
    const tatNum = den > 1 ? reply.count() : 0;
    const pausedUntilUs = pauseUs > 0 ? nowUs + pauseUs : 0;
    return { allowed, nowUs, tatUs: nowUs + Math.max(0, state - 1), tatNum, pausedUntilUs };
  },
};
