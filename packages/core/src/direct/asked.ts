/** What is asked of limits in one call, and what comes of the answers. */

import type { Eventually } from '../base/host.js';
import type { Answer } from '../contract/answer.js';
import type { Decision } from '../contract/decision.js';
import { skippedDecision } from '../contract/skipped.js';
import type { Op, Step } from '../contract/store.js';
import type { DirectClient } from './direct-client.js';
import type { Limit } from './limit.js';

/** One limit that is asked. */
export interface Asked {
  readonly limit: Limit;
  readonly step: Step;
  /** What is decided without the store. The step then changes nothing: it keeps its place in the group. */
  readonly ruled: Decision | undefined;
}

/** @throws SpillwayError `SPW_KEY_INVALID`, `SPW_COST_INVALID` */
export function askedOf(limit: Limit, op: Op, key: string, cost: number | undefined): Asked {
  const step = limit.step(op, key, cost);
  const ruled = limit.ruled(key);
  return { limit, step: ruled ? { ...step, cost: 0, binding: false } : step, ruled };
}

/** Whether the key is rejected without the store. */
function isRefused({ ruled }: Asked): boolean {
  return ruled?.allowed === false;
}

/** Whether it passes. */
function passes({ ruled, step }: Asked, answer: Answer): boolean {
  return ruled ? ruled.allowed : answer.allowed || !step.binding;
}

/** The decision on each. `charged`: whether what passes was charged. */
function decisionsOn(
  asked: readonly Asked[],
  answers: readonly Answer[],
  charged: boolean,
): readonly Decision[] {
  return asked.map(
    ({ limit, step, ruled }, at) => ruled ?? limit.decideIn(charged, step, answers[at] as Answer),
  );
}

/** The decisions where one of them is a rejection without the store: nobody is charged. */
function decisionsWithout(asked: readonly Asked[]): readonly Decision[] {
  return asked.map(({ limit, ruled }) => ruled ?? skippedDecision(limit.name));
}

/** The same, of which the keys that are known to be rejected are decided. */
export function withKnown(client: DirectClient, asked: readonly Asked[]): readonly Asked[] {
  return asked.map((one) => {
    const known = one.ruled ? undefined : client.store.known(one.step);
    return known ? { ...one, ruled: one.limit.decide(one.step, known) } : one;
  });
}

/** Asks for all, and tells the decisions and whether all pass. */
export function askAll<Value>(
  client: DirectClient,
  asked: readonly Asked[],
  then: (decisions: readonly Decision[], allowed: boolean) => Eventually<Value>,
): Eventually<Value> {
  if (asked.some((one) => one.step.op === 'take' && isRefused(one))) {
    return client.known(then(decisionsWithout(asked), false));
  }
  const steps = asked.map(({ step }) => step);
  return client.ask(steps, (answers) => {
    const allowed = asked.every((one, at) => passes(one, answers[at] as Answer));
    return then(decisionsOn(asked, answers, allowed), allowed);
  });
}
