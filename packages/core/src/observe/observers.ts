/** All that watch one guard, told without one of them being able to do harm. */

import { disregard, isThenable } from '../base/host.js';
import type { Decision } from '../contract/decision.js';
import type { Fault } from '../contract/fault.js';
import type { Mode } from '../contract/mode.js';
import type {
  BreakerEvent,
  DecisionEvent,
  Observer,
  Overflowing,
  StoreCallEvent,
} from '../contract/observer.js';

export class Observers {
  /** Whether anybody wants to know: what nobody hears need not be made. */
  readonly hearsDecisions: boolean;
  readonly hearsStoreCalls: boolean;
  private readonly observers: readonly Observer[];
  private readonly voice: ((fault: Fault) => void) | undefined;

  /** @param voice told of faults too: where nobody else reads them */
  constructor(observers: readonly Observer[], voice?: (fault: Fault) => void) {
    this.observers = observers;
    this.voice = voice;
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

  /** Tells of a store that counts what overflowed, if it does. */
  store(store: object): void {
    const { overflowed } = store as Partial<Overflowing>;
    if (typeof overflowed !== 'number') return;
    this.each('', (observer) => observer.onStore?.(store as Overflowing));
  }

  fault(fault: Fault): void {
    for (const observer of this.observers) {
      try {
        disregard(observer.onFault?.(fault));
      } catch {
        // An observer of faults that itself fails has nobody left to tell.
      }
    }
    try {
      this.voice?.(fault);
    } catch {
      // What cannot be put into words must not end the request.
    }
  }

  /** Nobody waits for an observer; what it throws, now or later, is a fault. */
  private each(limiter: string, tell: (observer: Observer) => unknown): void {
    for (const observer of this.observers) {
      try {
        const told = tell(observer);
        if (told !== undefined) this.watch(limiter, told);
      } catch (error) {
        this.fault({ limiter, source: 'observer', error });
      }
    }
  }

  private watch(limiter: string, told: unknown): void {
    if (!isThenable(told)) return;
    told.then(undefined, (error) => this.fault({ limiter, source: 'observer', error }));
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
