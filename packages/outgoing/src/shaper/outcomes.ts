import {
  type Decision,
  type Observer,
  type Reason,
  SpillwayError,
  type Step,
} from '@spillway/core';
import { type DirectClient, isThenable, shareFromZero } from '@spillway/core/direct';
import type { QueueRule, Rule } from '@spillway/core/store';
import type { Unreserved } from './contract.js';
import type { Job } from './job.js';
import { type Cost, periodOf } from './paces.js';
import type { Slot, SlotAnswer } from './slots.js';

export function closed(name: string): SpillwayError {
  return new SpillwayError('SPW_SHAPER_CLOSED', `shaper "${name}" was closed`);
}

export function full(name: string, maxQueue: number): SpillwayError {
  return new SpillwayError(
    'SPW_SHAPER_FULL',
    `${maxQueue} jobs wait for shaper "${name}" in this process, as many as maxQueue says`,
  );
}

export function waitTooLong(name: string, wouldWaitMs: number): SpillwayError {
  return new SpillwayError(
    'SPW_SHAPER_WAIT',
    `the wait for shaper "${name}" would be ${wouldWaitMs} ms, longer than maxWait`,
    { wouldWaitMs },
  );
}

/** @param waitMs how long the job would wait at least: the time waited so far, plus the remaining time of a pause */
export function waitedTooLong(name: string, waitMs: number): SpillwayError {
  return new SpillwayError(
    'SPW_SHAPER_WAIT',
    `the job was accepted by shaper "${name}" but could not start within maxWait: the key was paused, no permit was free, or slots were lost`,
    { wouldWaitMs: waitMs },
  );
}

export function blocked(name: string, endsInMs: number): SpillwayError {
  const ends = Number.isFinite(endsInMs)
    ? `for ${Math.ceil(endsInMs)} ms more`
    : 'until further notice';
  return new SpillwayError(
    'SPW_SHAPER_BLOCKED',
    `the key is blocked for shaper "${name}" by an operator, ${ends}`,
    { wouldWaitMs: endsInMs },
  );
}

export function unreservable(name: string): SpillwayError {
  return new SpillwayError(
    'SPW_SHAPER_RESERVE',
    `shaper "${name}" has maxConcurrent, so it cannot reserve: use schedule, which knows when the work ends`,
  );
}

export function noAnswer(name: string, cause: Error): SpillwayError {
  return new SpillwayError(
    'SPW_STORE_UNAVAILABLE',
    `the store of shaper "${name}" did not answer`,
    { cause },
  );
}

export function unreserved(
  key: string,
  reason: Unreserved['reason'],
  wouldWaitMs: number,
): Unreserved {
  return { allowed: false, key, reason, wouldWaitMs };
}

export function callSafely(call: () => unknown, onError: (error: unknown) => void): void {
  try {
    const returned = call();
    if (isThenable(returned)) returned.then(undefined, onError);
  } catch (error) {
    onError(error);
  }
}

export class DecisionReporter {
  private readonly name: string;
  private readonly client: DirectClient;
  private readonly ruleOf: (key: string) => Rule;
  private readonly waitObservers: readonly Observer[];

  constructor(
    name: string,
    client: DirectClient,
    ruleOf: (key: string) => Rule,
    observers: readonly Observer[],
  ) {
    this.name = name;
    this.client = client;
    this.ruleOf = ruleOf;
    this.waitObservers = observers.filter(({ onWait }) => onWait);
  }

  get isObserved(): boolean {
    return this.client.observers.wantsDecisions;
  }

  /**
   * Tells observers how long a job waited. Call this in the async context of the job, when the job has stopped waiting.
   */
  reportWait({ isAborted }: Job, isStarted: boolean, waitUs: number): void {
    const outcome = isStarted ? 'started' : isAborted ? 'aborted' : 'rejected';
    const event = { limiter: this.name, waitMs: waitUs / 1_000, outcome } as const;
    const fault = (error: unknown): void =>
      this.client.fault({ limiter: this.name, source: 'observer', error });
    for (const observer of this.waitObservers) callSafely(() => observer.onWait?.(event), fault);
  }

  reportStart({ key, cost, isLocal, steps, permit }: Slot): void {
    if (!this.isObserved) return;
    const rule = permit ? this.ruleOf(key) : slowestOf(steps);
    this.report(key, cost, rule, isLocal ? 'error' : 'allowed', null, 0);
  }

  reportAnswer({ key, cost, steps, isUnknown, failure, waitMs }: SlotAnswer): void {
    if (!this.isObserved) return;
    const rule = slowestOf(steps);
    if (isUnknown) this.report(key, cost, rule, 'error', 'store-error', Number.NaN);
    else {
      const outcome = failure ? 'error' : 'denied';
      this.report(key, cost, rule, outcome, 'rate', waitMs - rule.waitUs / 1_000);
    }
  }

  reportRejection(key: string, cost: Cost, reason: Reason, retryAfterMs: number): void {
    if (!this.isObserved) return;
    this.report(key, cost, this.ruleOf(key), 'denied', reason, retryAfterMs);
  }

  private report(
    key: string,
    { units }: Cost,
    rule: Rule,
    outcome: Decision['outcome'],
    reason: Reason | null,
    retryAfterMs: number,
  ): void {
    const { name, client } = this;
    const policy = rule.logic.policy(name, rule);
    // Unknown, because the state of the queue was read when the slot was taken, which can be long ago.
    const unknown = { used: Number.NaN, remaining: Number.NaN, resetMs: Number.NaN };
    const allowed = reason === null;
    const cost = units[0] as number;
    const decision = { limiter: name, allowed, outcome, reason, cost, retryAfterMs, policy };
    client.tell({ ...decision, ...unknown }, key);
  }
}

function slowestOf(steps: readonly Step[]): QueueRule {
  const rules = steps.map(({ rule }) => rule as QueueRule);
  return rules.reduce((one, other) => (periodOf(other) > periodOf(one) ? other : one));
}

/** A random number from 0 to 1. If the function gives another value or throws, the number is 0. */
export function safeRandom(random: () => number, onError: (error: unknown) => void): () => number {
  return () => {
    try {
      return shareFromZero('random', random() as unknown);
    } catch (error) {
      onError(error);
      return 0;
    }
  };
}
