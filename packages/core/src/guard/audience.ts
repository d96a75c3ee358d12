/** All that watch one guard, told without one of them being able to do harm. */

import type { Decision } from '../decision.js';
import type { Fault, Mode } from '../limit/limiter.js';
import type { BreakerEvent, DecisionEvent, Observer, StoreCallEvent } from './observer.js';

export class Audience {
  /** Whether anybody wants to know: what nobody hears need not be made. */
  readonly hearsDecisions: boolean;
  readonly hearsStoreCalls: boolean;

  constructor(private readonly observers: readonly Observer[]) {
    this.hearsDecisions = observers.some(({ onDecision }) => onDecision);
    this.hearsStoreCalls = observers.some(({ onStoreCall }) => onStoreCall);
  }

  decision(decision: Decision, mode: Mode, key: string | undefined): void {
    const event = eventOf(decision, mode);
    this.each(event.limiter, (observer) => observer.onDecision?.(event, key));
  }

  storeCall(event: StoreCallEvent): void {
    this.each('', (observer) => observer.onStoreCall?.(event));
  }

  breaker(event: BreakerEvent): void {
    this.each('', (observer) => observer.onBreaker?.(event));
  }

  fault(fault: Fault): void {
    for (const observer of this.observers) {
      try {
        observer.onFault?.(fault);
      } catch {
        // An observer of faults that itself fails has nobody left to tell.
      }
    }
  }

  private each(limiter: string, tell: (observer: Observer) => void): void {
    for (const observer of this.observers) {
      try {
        tell(observer);
      } catch (error) {
        this.fault({ limiter, source: 'observer', error });
      }
    }
  }
}

/** Field by field: a spread costs more than all that observers do with it. */
function eventOf(decision: Decision, mode: Mode): DecisionEvent {
  return {
    limiter: decision.limiter,
    allowed: decision.allowed,
    outcome: decision.outcome,
    reason: decision.reason,
    cost: decision.cost,
    remaining: decision.remaining,
    retryAfterMs: decision.retryAfterMs,
    resetMs: decision.resetMs,
    policy: decision.policy,
    signal: decision.signal,
    priority: decision.priority,
    mode,
  };
}
