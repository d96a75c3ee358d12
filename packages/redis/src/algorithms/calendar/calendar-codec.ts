import type { Step } from '@spillway/core';
import { type CalendarRule, periodsOf, unitsOf as unitsCharged } from '@spillway/core/store';
import { type CodecOf, costWithin, OPS, unitsOf } from '../codec.js';
import lua from './calendar.lua';

export const calendar: CodecOf<'calendar'> = {
  letter: 'k',
  lua: [lua],
  maker: 'calendar',
  isTimed: true,

  encode(rule, step, op, args, clock) {
    const { limit } = rule;
    const cost = step.op === 'put' ? unitsOf(step) : costWithin(limit, step.cost);
    args.push(`${cost}`, `${limit}`, `${unitsSent(rule, step)}`, `${limit + (rule.debt ?? 0)}`);
    if (op === OPS.put) args.push(`${step.receipt?.atUs ?? -1}`);
    // Two periods are sent, because Redis cannot calculate with calendars, and the current period may end before the
    // call arrives.
    const { current, next } = periodsOf({ rule, period: step.period }, clock.nowUs());
    for (const { label, startUs, endUs } of [current, next]) {
      args.push(label, `${startUs}`, `${endUs}`);
    }
  },

  decodeAnswer(rule, allowed, current, reply, step) {
    const { nowUs } = reply;
    const startUs = nowUs + reply.number();
    const endUs = nowUs + reply.number();
    const forgiven = reply.count();
    const answer = { allowed, nowUs, startUs, endUs, current };
    if (rule.debt === undefined || forgiven === 0) return answer;
    return { ...answer, forgiven: forgiven + (unitsCharged(step) - unitsSent(rule, step)) };
  },
};

/** The units of a step, capped just above limit plus debt, because the script never charges more than that sum. */
function unitsSent(rule: CalendarRule, step: Step): number {
  return costWithin(rule.limit + (rule.debt ?? 0), unitsCharged(step));
}
