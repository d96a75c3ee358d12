/** Calls the observers of one guard or limiter. What they throw, or reject later, is a fault and fails no request. */

import { disregard, isThenable } from '../base/host.js';
import type { Control } from '../contract/control.js';
import type { Decision, Mode } from '../contract/decision.js';
import type {
  BreakerEvent,
  DecisionEvent,
  Fault,
  Observer,
  Overflowing,
  StoreCallEvent,
} from '../contract/observer.js';
import type { LimitRequest } from '../contract/request.js';

export class Observers {
  /** Whether an observer takes decisions: events that nobody takes are not made. */
  readonly hearsDecisions: boolean;
  readonly hearsStoreCalls: boolean;
  private readonly observers: readonly Observer[];
  private readonly voice: ((fault: Fault) => void) | undefined;

  /** @param voice logs faults, where there is no `onFault` */
  constructor(observers: readonly Observer[], voice?: (fault: Fault) => void) {
    this.observers = observers;
    this.voice = voice;
    this.hearsDecisions = observers.some(({ onDecision }) => onDecision);
    this.hearsStoreCalls = observers.some(({ onStoreCall }) => onStoreCall);
  }

  decision(
    decision: Decision,
    mode: Mode,
    key: string | undefined,
    request: LimitRequest | undefined,
  ): void {
    const event = eventOf(decision, mode);
    this.each(event.limiter, (observer) => observer.onDecision?.(event, key, request));
  }

  storeCall(event: StoreCallEvent): void {
    this.each('', (observer) => observer.onStoreCall?.(event));
  }

  breaker(event: BreakerEvent): void {
    this.each('', (observer) => observer.onBreaker?.(event));
  }

  /** Passes on a store that counts what overflowed; other stores are not passed on. */
  store(store: object): void {
    const { overflowed } = store as Partial<Overflowing>;
    if (typeof overflowed !== 'number') return;
    this.each('', (observer) => observer.onStore?.(store as Overflowing));
  }

  /** Passes on a control that can tell whether its settings are lost; others are not passed on. */
  control(control: Control): void {
    if (typeof control.settingsLost !== 'boolean') return;
    this.each('', (observer) => observer.onControl?.(control));
  }

  fault(fault: Fault): void {
    for (const observer of this.observers) {
      try {
        disregard(observer.onFault?.(fault));
      } catch {
        // Where `onFault` itself fails there is nobody else to call.
      }
    }
    try {
      this.voice?.(fault);
    } catch {
      // A fault that cannot be logged must not fail the request.
    }
  }

  /** Nobody waits for an observer. */
  private each(limiter: string, call: (observer: Observer) => unknown): void {
    for (const observer of this.observers) {
      try {
        const returned = call(observer);
        if (returned !== undefined) this.watch(limiter, returned);
      } catch (error) {
        this.fault({ limiter, source: 'observer', error });
      }
    }
  }

  private watch(limiter: string, returned: unknown): void {
    if (!isThenable(returned)) return;
    returned.then(undefined, (error) => this.fault({ limiter, source: 'observer', error }));
  }
}

/** Field by field: a spread costs more than all that observers do with it. */
function eventOf(decision: Decision, mode: Mode): DecisionEvent {
  return {
    limiter: decision.limiter,
    allowed: decision.allowed,
    outcome: decision.outcome,
    reason: decision.reason,
    status: decision.status,
    cost: decision.cost,
    used: decision.used,
    remaining: decision.remaining,
    retryAfterMs: decision.retryAfterMs,
    resetMs: decision.resetMs,
    policy: decision.policy,
    signal: decision.signal,
    priority: decision.priority,
    mode,
  };
}
