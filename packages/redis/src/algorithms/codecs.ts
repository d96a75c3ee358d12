/** How the numbers of each algorithm are sent to Redis and read back. Longer codecs are beside their Lua code. */

import { type Rule, refillTime, type WindowRule } from '@spillway/core/store';
import { bucket, trueRefillTime } from './bucket/bucket-codec.js';
import { calendar } from './calendar/calendar-codec.js';
import { claims } from './claims/claim-codec.js';
import { type Codec, type CodecOf, costWithin, OPS, unitsOf } from './codec.js';
import distinctLua from './distinct/distinct.lua';
import leasesLua from './leases/leases.lua';
import lockLua from './lock/lock.lua';
import logLua from './log/log.lua';
import logPut from './log/log-put.lua';
import queueLua from './queue/queue.lua';
import windowLua from './window/window.lua';

/** The numbers of the kinds of windows, as in window.lua. */
const KINDS: Readonly<Record<WindowRule['kind'], string>> = {
  fixed: '0',
  sliding: '1',
  anchored: '2',
};

const CODECS: { readonly [Name in Rule['machine']]: CodecOf<Name> } = {
  bucket,
  queue: {
    letter: 'q',
    lua: [queueLua],
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
  },
  window: {
    letter: 'w',
    lua: [windowLua],
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
  },
  calendar,
  log: {
    letter: 'l',
    lua: [logPut, logLua],
    maker: 'log',

    encode({ limit, windowUs }, step, op, args) {
      const cost = step.op === 'put' ? step.cost : costWithin(limit, step.cost);
      args.push(`${cost}`, `${limit}`, `${windowUs}`);
      // Both costs are sent: the answer says when the full cost would pass, even if less is refunded.
      if (op === OPS.put) args.push(`${step.receipt?.atUs ?? 0}`, `${unitsOf(step)}`);
    },

    decodeAnswer(_, allowed, state, reply) {
      const freesUs = reply.number();
      return { allowed, nowUs: reply.nowUs, used: state, freesUs, lastUs: reply.number() };
    },
  },
  leases: {
    letter: 'p',
    lua: [leasesLua],
    maker: 'leases',
    idOf: ({ lease }) => lease?.id ?? '',

    encode({ limit, open, leaseUs }, step, _, args) {
      args.push(step.lease?.critical ? '1' : '0', `${limit}`, `${open}`, `${leaseUs}`);
    },

    decodeAnswer(_, allowed, state, reply) {
      return { allowed, nowUs: reply.nowUs, used: state, critical: reply.count() };
    },
  },
  claims,
  lock: {
    letter: 'x',
    lua: [lockLua],
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
  },
  distinct: {
    letter: 'i',
    lua: [distinctLua],
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
  },
};

export function codecOf(rule: Rule): Codec {
  return CODECS[rule.machine];
}

export function allCodecs(): readonly Codec[] {
  return Object.values(CODECS);
}
