/** Calculates the numbers of a decision from a store's answer. No other file does, so all stores agree. */

import { mulAddDiv, mulDiv } from '../base/exact.js';
import type { Numbers } from '../contract/decision.js';
import type { BucketRule, LeasesRule, LogRule, Rule, WindowRule } from '../contract/rule.js';
import type {
  Answer,
  BucketAnswer,
  LeasesAnswer,
  LogAnswer,
  WindowAnswer,
} from '../contract/store.js';

/** `remaining`, `retryAfterMs` and `resetMs` for a store's answer to a step of `cost` units under `rule`. */
export function measure(rule: Rule, answer: Answer, cost: number): Numbers {
  return rule.machine === 'bucket' && rule.den === 1 && cost <= rule.burst
    ? measureWhole(rule, answer as BucketAnswer, cost)
    : measureAny(rule, answer, cost);
}

function measureAny(rule: Rule, answer: Answer, cost: number): Numbers {
  switch (rule.machine) {
    case 'bucket':
      return measureBucket(rule, answer as BucketAnswer, cost);
    case 'window':
      return measureWindow(rule, answer as WindowAnswer, cost);
    case 'log':
      return measureLog(rule, answer as LogAnswer, cost);
    case 'leases':
      return measureLeases(rule, answer as LeasesAnswer);
  }
}

/** The time that `cost` units take to refill, as whole microseconds and a numerator over `rule.den`. */
export function refillTime(rule: BucketRule, cost: number): { us: number; num: number } {
  // A cost above the burst never passes. One microsecond more than the tolerance says so without large numbers.
  if (cost > rule.burst) return { us: rule.tolUs + 1, num: 0 };
  const { whole, rest } = mulDiv(cost, rule.period, rule.den);
  return { us: whole, num: rest };
}

function measureBucket(rule: BucketRule, answer: BucketAnswer, cost: number): Numbers {
  const { den } = rule;
  const full = answer.tatUs < answer.nowUs;
  const debtUs = full ? 0 : answer.tatUs - answer.nowUs;
  const debtNum = full ? 0 : answer.tatNum;

  let roomUs = rule.tolUs - debtUs;
  let roomNum = rule.tolNum - debtNum;
  if (roomNum < 0) {
    roomUs -= 1;
    roomNum += den;
  }
  return {
    remaining: roomUs < 0 ? 0 : mulAddDiv(roomUs, den, roomNum, rule.period),
    retryAfterMs: cost > rule.burst ? Infinity : waitForRefill(rule, cost, roomUs, roomNum) / 1000,
    resetMs: (debtUs + (debtNum > 0 ? 1 : 0)) / 1000,
  };
}

/** {@link measureBucket} where a unit refills in whole microseconds: nearly always, and short enough to be inlined. */
function measureWhole(rule: BucketRule, answer: BucketAnswer, cost: number): Numbers {
  const { period } = rule;
  const debtUs = Math.max(0, answer.tatUs - answer.nowUs);
  const roomUs = rule.tolUs - debtUs;
  const waitUs = cost * period - roomUs;
  return {
    remaining: roomUs < 0 ? 0 : Math.floor(roomUs / period),
    retryAfterMs: waitUs > 0 ? waitUs / 1000 : 0,
    resetMs: debtUs / 1000,
  };
}

/** Microseconds, rounded up, until the room in the bucket is as large as the refill time of `cost`. */
function waitForRefill(rule: BucketRule, cost: number, roomUs: number, roomNum: number): number {
  const refill = refillTime(rule, cost);
  const us = refill.us - roomUs;
  const num = refill.num - roomNum;
  return Math.max(0, num > 0 ? us + 1 : us);
}

function measureWindow(rule: WindowRule, answer: WindowAnswer, cost: number): Numbers {
  const { limit, windowUs } = rule;
  const { startUs, current, previous, nowUs } = answer;
  const left = windowUs - Math.max(0, nowUs - startUs);
  const weighed = mulDiv(previous, left, windowUs);
  const endUs = startUs + windowUs;

  let resetUs = 0;
  if (current > 0) resetUs = (rule.sliding ? endUs + windowUs : endUs) - nowUs;
  else if (previous > 0) resetUs = endUs - nowUs;
  return {
    remaining: Math.max(0, limit - current - weighed.whole - (weighed.rest > 0 ? 1 : 0)),
    retryAfterMs:
      cost > limit ? Infinity : Math.max(0, passesAtUs(rule, answer, cost) - nowUs) / 1000,
    resetMs: resetUs / 1000,
  };
}

/** The first instant at which `cost` passes if no other request comes; an instant before now if it passes already. */
function passesAtUs(rule: WindowRule, answer: WindowAnswer, cost: number): number {
  const { limit, windowUs } = rule;
  const { startUs, current, previous } = answer;
  const room = limit - current - cost;
  if (cost === 0 || (room >= 0 && previous <= room)) return 0;
  if (room >= 0) return startUs + fadesAfterUs(previous, room, windowUs);
  // Not in this window. In the next one, this window counts as the previous one and weighs less with time.
  return startUs + windowUs + (rule.sliding ? fadesAfterUs(current, limit - cost, windowUs) : 0);
}

/** Microseconds from the start of a window until the `count` of the window before it weighs at most `room` units. */
function fadesAfterUs(count: number, room: number, windowUs: number): number {
  return count <= room ? 0 : windowUs - mulDiv(room, windowUs, count).whole;
}

function measureLog(rule: LogRule, answer: LogAnswer, cost: number): Numbers {
  const { used, freesUs, lastUs, nowUs } = answer;
  let retryAfterMs = 0;
  if (cost > rule.limit) retryAfterMs = Infinity;
  else if (cost > 0 && freesUs >= 0) retryAfterMs = (freesUs + rule.windowUs - nowUs) / 1000;
  return {
    remaining: Math.max(0, rule.limit - used),
    retryAfterMs,
    resetMs: used > 0 ? (lastUs + rule.windowUs - nowUs) / 1000 : 0,
  };
}

/** Nobody can know when a request in progress will end, so there is no wait and no reset to tell. */
function measureLeases(rule: LeasesRule, answer: LeasesAnswer): Numbers {
  const { allowed, used, critical } = answer;
  return {
    remaining: Math.max(0, Math.min(rule.limit - used, rule.open - (used - critical))),
    retryAfterMs: allowed ? 0 : Number.NaN,
    resetMs: Number.NaN,
  };
}
