/** What the answers of a store tell about the keys of a shaper. */

import type { Answer, Step } from '@spillway/core';
import {
  delayOf,
  type QueueAnswer,
  type QueueRule,
  type Rule,
  receiptFrom,
} from '@spillway/core/store';
import { Moment } from './moment.js';
import type { StoreTimes } from './store-time.js';

/** When work of a key may start, once. */
export interface Slot {
  readonly key: string;
  /** The most units that the work may cost. */
  readonly cost: number;
  readonly at: Moment;
  /** Whether the stand-in granted it, because the store did not answer. */
  readonly isLocal: boolean;
  /** What it was taken by. */
  readonly step: Step;
  readonly answer: Answer;
}

/** The time of one unit under the rule by which the slot was asked for: the pace may be changed live. */
export function periodUsOf({ step }: Pick<Slot, 'step'>): number {
  const { windowUs, limit } = step.rule as QueueRule;
  return windowUs / limit;
}

/** What an answer tells about a key. */
export interface Heard {
  readonly key: string;
  /** What was asked. */
  readonly step: Step;
  /** When it was asked, by our clock: what it tells is no older. */
  readonly askedUs: number;
  /** When its answer was read, by our clock. */
  readonly heardUs: number;
  /** Why the store did not answer: policy has. */
  readonly failure: Error | undefined;
  /** Whether nobody knows anything of the key: the store failed, and policy is to refuse. */
  readonly isUnknown: boolean;
  readonly pausedUntil: Moment | undefined;
  /** Of a take that was granted. */
  readonly slot: Slot | undefined;
  /** Granted, but too far away: to be given back. */
  readonly tooFar: Slot | undefined;
  /** How long it would be until the cost may start; Infinity if nobody knows. */
  readonly waitMs: number;
}

export class Hearing {
  /** How far the clocks that decide are from ours; undefined: ours decides. */
  private readonly times: StoreTimes | undefined;
  /**
   * Where in its own longer period this process starts while the store does not answer, from 0 up to 1. Otherwise all
   * processes of a fleet that was idle would start together when its store stops.
   */
  private readonly phase: number;

  constructor(times: StoreTimes | undefined, phase: number) {
    this.times = times;
    this.phase = phase;
  }

  of(step: Step, given: Answer, askedUs: number, heardUs: number): Heard {
    const answer = given as QueueAnswer;
    if (answer.failure) return this.ofFailure(step, answer, askedUs, heardUs);
    const { key, cost, rule } = step;
    const { nowUs, pausedUntilUs } = answer;
    const time = this.times?.of(step);
    time?.learn(nowUs, askedUs, heardUs);
    const isGranted = step.op === 'take' && answer.allowed;
    // Of what was granted, the wait of the last unit; else that of so many more.
    const waitMs = delayOf(rule as QueueRule, answer, isGranted ? 0 : cost);
    const at = isGranted ? new Moment(nowUs + Math.round(waitMs * 1_000), time) : undefined;
    return {
      key,
      step,
      askedUs,
      heardUs,
      failure: undefined,
      isUnknown: false,
      pausedUntil: pausedUntilUs > 0 ? new Moment(pausedUntilUs, time) : undefined,
      slot: at && { key, cost, at, isLocal: false, step, answer },
      tooFar: undefined,
      waitMs,
    };
  }

  /** The stand-in has answered, by our clock, or nobody. */
  private ofFailure(step: Step, answer: QueueAnswer, askedUs: number, heardUs: number): Heard {
    const { key, cost, onStoreError } = step;
    const { failure, nowUs, pausedUntilUs } = answer;
    const told = { key, step, askedUs, heardUs, failure };
    const nothing = { pausedUntil: undefined, slot: undefined, tooFar: undefined };
    if (typeof onStoreError !== 'object') {
      return { ...told, ...nothing, isUnknown: true, waitMs: Infinity };
    }
    const own = onStoreError as QueueRule;
    const isGranted = step.op === 'take' && answer.allowed;
    const waitUs =
      delayOf(own, answer, isGranted ? 0 : cost) * 1_000 + this.phaseUs(step.rule, own);
    const at = new Moment(nowUs + Math.round(waitUs), undefined);
    const slot = isGranted ? { key, cost, at, isLocal: true, step, answer } : undefined;
    const isTooFar = waitUs > own.waitUs;
    return {
      ...told,
      isUnknown: false,
      pausedUntil: pausedUntilUs > 0 ? new Moment(pausedUntilUs, undefined) : undefined,
      slot: isTooFar ? undefined : slot,
      tooFar: isTooFar ? slot : undefined,
      waitMs: waitUs / 1_000,
    };
  }

  /** At most the longest wait: a process with a late place would start nothing. */
  private phaseUs(rule: Rule, own: QueueRule): number {
    const spreadUs = (own.windowUs - (rule as QueueRule).windowUs) / own.limit;
    return Math.floor(this.phase * Math.min(spreadUs, own.waitUs));
  }
}

/** The step that gives a slot back. */
export function putOf({ step, answer }: Slot): Step {
  return { ...step, op: 'put', receipt: receiptFrom(step.rule, answer, step.cost) };
}
