/** Calendar counts in calls and replies; calendar.lua does the rest. */

import type { Answer, Clock, Step } from '@spillway/core';
import { type CalendarRule, periodsOf } from '@spillway/core/store';
import { type Codec, costWithin, OPS, type ReplyWords, unitsOf } from '../codec.js';
import lua from './calendar.lua';

export const calendar: Codec<CalendarRule> = {
  letter: 'k',
  lua: [lua],
  maker: 'calendar',
  isTimed: true,

  encode(rule: CalendarRule, step: Step, op: number, args: string[], clock: Clock): void {
    const cost = step.op === 'put' ? unitsOf(step) : costWithin(rule.limit, step.cost);
    args.push(`${cost}`, `${rule.limit}`);
    if (op === OPS.put) args.push(`${step.receipt?.atUs ?? 0}`);
    // Redis cannot calculate with calendars, and a period may end before the call arrives.
    const { current, next } = periodsOf({ rule, period: step.period }, clock.nowUs());
    for (const { label, startUs, endUs } of [current, next]) {
      args.push(label, `${startUs}`, `${endUs}`);
    }
  },

  decodeAnswer(_: CalendarRule, allowed: boolean, current: number, reply: ReplyWords): Answer {
    const { nowUs } = reply;
    const startUs = nowUs + reply.number();
    return { allowed, nowUs, startUs, endUs: nowUs + reply.number(), current };
  },
};
