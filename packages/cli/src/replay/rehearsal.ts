/** Runs a policy as a real guard in shadow mode. The guard's store is in memory and has the clock of the log. */

import { inspect } from 'node:util';
import type {
  Admission,
  DecisionEvent,
  Fault,
  Guard,
  GuardOptions,
  Overflowing,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import type { LogEntry } from './log-entry.js';
import { guardOf, type Policy } from './policy.js';

/** Called for each decision of each limiter, in the order of the limiters; `key` is the counted key. */
export type OnDecision = (event: DecisionEvent, key: string | undefined, request: LogEntry) => void;

export class Rehearsal {
  /** Failures of the policy's functions, by limiter and option, as in `per-user: key`. */
  readonly faults: Map<string, { count: number; readonly first: string }> = new Map();
  private readonly clock = new ManualClock(0);
  private readonly guard: Guard;
  private memory: Overflowing | undefined;

  constructor(policy: Policy, onDecision: OnDecision) {
    const onStore = (memory: Overflowing): void => {
      this.memory = memory;
    };
    this.guard = guardOf(policy, {
      // Guards without a store share one memory per clock, and no other guard has this clock.
      store: undefined,
      clock: this.clock,
      mode: 'shadow',
      control: undefined,
      observers: [{ onStore }],
      onDecision: onDecision as unknown as NonNullable<GuardOptions['onDecision']>,
      onFault: (fault) => this.note(fault),
      logger: { warn: () => {} },
      validate: false,
    });
  }

  /** The number of decisions on a count that several callers share, because the memory is full. */
  get overflowed(): number {
    return this.memory?.overflowed ?? 0;
  }

  /** Decides at `atUs`, which must never decrease. Returns a promise if a function of the policy does. */
  decide(request: LogEntry, atUs: number): Promise<void> | undefined {
    this.clock.setUs(atUs);
    const admission = this.guard.admit(request as never);
    if (admission instanceof Promise) return admission.then((own) => this.release(own, request));
    return this.release(admission, request);
  }

  private release(admission: Admission, { status }: LogEntry): Promise<void> | undefined {
    return admission.pending
      ? admission.release(status === undefined ? {} : { status })
      : undefined;
  }

  private note({ limiter, source, error }: Fault): void {
    const name = `${limiter || 'guard'}: ${source}`;
    const fault = this.faults.get(name);
    if (fault) fault.count += 1;
    else
      this.faults.set(name, {
        count: 1,
        first: error instanceof Error ? String(error) : inspect(error),
      });
  }
}
