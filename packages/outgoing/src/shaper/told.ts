/** What observers are told of a shaper: one decision for each job that started or was refused, and each reservation. */

import type { Decision, Reason } from '@spillway/core';
import type { DirectClient } from '@spillway/core/direct';
import type { QueueRule, Rule } from '@spillway/core/store';
import type { Heard, Slot } from './slots.js';

/** What was decided on. */
interface Asked {
  readonly key: string;
  readonly cost: number;
  readonly rule: Rule;
}

export class Told {
  private readonly name: string;
  private readonly client: DirectClient;

  constructor(name: string, client: DirectClient) {
    this.name = name;
    this.client = client;
  }

  /** @param cost of the work, perhaps less than the slot has */
  started({ key, isLocal, step }: Slot, cost: number): void {
    // On a slot of the stand-in, because the store did not answer.
    this.tell({ key, cost, rule: step.rule }, isLocal ? 'error' : 'allowed', null, 0);
  }

  /** The store was asked, and no slot was near enough. */
  refusedBy({ step, isUnknown, failure, waitMs }: Heard): void {
    const { waitUs } = step.rule as QueueRule;
    if (isUnknown) this.tell(step, 'error', 'store-error', Number.NaN);
    else this.tell(step, failure ? 'error' : 'denied', 'rate', waitMs - waitUs / 1_000);
  }

  /** @param retryAfterMs NaN if nobody knows */
  refused(asked: Asked, reason: Reason, retryAfterMs: number): void {
    this.tell(asked, 'denied', reason, retryAfterMs);
  }

  private tell(
    { key, cost, rule }: Asked,
    outcome: Decision['outcome'],
    reason: Reason | null,
    retryAfterMs: number,
  ): void {
    const { name, client } = this;
    if (!client.isObserved) return;
    const policy = rule.logic.policy(name, rule);
    // How far the queue is taken was known when the slot was taken, which may be long ago.
    const unknown = { used: Number.NaN, remaining: Number.NaN, resetMs: Number.NaN };
    const allowed = reason === null;
    const decision = { limiter: name, allowed, outcome, reason, cost, retryAfterMs, policy };
    client.tell({ ...decision, ...unknown }, key);
  }
}
