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
  /** What an operator has decided about the key. The step then changes nothing: it keeps its place in the group. */
  readonly ruled: Decision | undefined;
}

/** @throws SpillwayError `SPW_KEY_INVALID`, `SPW_COST_INVALID` */
export function askedOf(limit: Limit, op: Op, key: string, cost: number | undefined): Asked {
  const step = limit.step(op, key, cost);
  const ruled = limit.ruled(key);
  return { limit, step: ruled ? { ...step, cost: 0, binding: false } : step, ruled };
}

/** Whether an operator refuses the key. */
export function isRefused({ ruled }: Asked): boolean {
  return ruled?.allowed === false;
}

/** Whether it passes. */
export function passes({ ruled, step }: Asked, answer: Answer): boolean {
  return ruled ? ruled.allowed : answer.allowed || !step.binding;
}

/** The decision on each. `charged`: whether what passes was charged. */
export function decisionsOn(
  asked: readonly Asked[],
  answers: readonly Answer[],
  charged: boolean,
): readonly Decision[] {
  return asked.map(
    ({ limit, step, ruled }, at) => ruled ?? limit.decideIn(charged, step, answers[at] as Answer),
  );
}

/** Where an operator refuses a key, nobody is charged and the store is not asked. */
export function decisionsWithout(asked: readonly Asked[]): readonly Decision[] {
  return asked.map(({ limit, ruled }) => ruled ?? skippedDecision(limit.name));
}

/** Asks for all, and tells the decisions and whether all pass. */
export function askAll<Value>(
  client: DirectClient,
  asked: readonly Asked[],
  then: (decisions: readonly Decision[], allowed: boolean) => Value,
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
