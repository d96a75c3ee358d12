/** Calls the observers of one guard or limiter. Their errors are reported as faults and don't fail the request. */

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
  UnitsEvent,
} from '../contract/observer.js';
import type { LimitRequest } from '../contract/request.js';

export class Observers {
  readonly wantsDecisions: boolean;
  readonly wantsStoreCalls: boolean;
  readonly wantsEnds: boolean;
  private readonly observers: readonly Observer[];
  private readonly wantsEvents: boolean;
  private readonly counters: readonly Observer[];
  private readonly logFault: ((fault: Fault) => void) | undefined;
  private listeners: Map<object, unknown> | undefined;

  constructor(given: readonly Observer[], logFault?: (fault: Fault) => void) {
    // An observer that is listed twice would count each decision twice.
    const observers = [...new Set(given)];
    this.observers = observers;
    this.logFault = logFault;
    this.counters = observers.filter(({ countDecision }) => countDecision);
    this.wantsEvents = observers.some(({ onDecision }) => onDecision);
    this.wantsDecisions = this.wantsEvents || this.counters.length > 0;
    this.wantsStoreCalls = observers.some(({ onStoreCall }) => onStoreCall);
    this.wantsEnds = observers.some(({ onEnd }) => onEnd);
  }

  decision(
    decision: Decision,
    mode: Mode,
    key: string | undefined,
    request: LimitRequest | undefined,
  ): void {
    // Without closures, because this is called for each decision.
    for (const counter of this.counters) {
      try {
        this.watchPromise(decision.limiter, counter.countDecision?.(decision, mode, key));
      } catch (error) {
        this.fault({ limiter: decision.limiter, source: 'observer', error });
      }
    }
    if (this.wantsEvents) this.decisionEvent(eventOf(decision, mode), key, request);
  }

  private decisionEvent(
    event: DecisionEvent,
    key: string | undefined,
    request: LimitRequest | undefined,
  ): void {
    this.each(event.limiter, (observer) => observer.onDecision?.(event, key, request));
  }

  ended(request: LimitRequest): void {
    this.each('', (observer) => observer.onEnd?.(request));
  }

  units(event: UnitsEvent): void {
    this.each(event.limiter, (observer) => observer.onUnits?.(event));
  }

  storeCall(event: StoreCallEvent): void {
    this.each('', (observer) => observer.onStoreCall?.(event));
  }

  /**
   * Adds the observers of breakers to the listeners of one, each only once: the breaker outlives guards, and must not
   * keep every guard that has the observer.
   */
  listenTo(listeners: Map<object, (event: BreakerEvent) => void>): void {
    this.listeners = listeners;
    for (const observer of this.observers) {
      if (!observer.onBreaker || listeners.has(observer)) continue;
      listeners.set(observer, (event) =>
        this.each('', () => observer.onBreaker?.(event), [observer]),
      );
    }
  }

  /** Removes an observer that no other guard or limiter has from the breaker, which would keep it. */
  stopListening(observer: Observer): void {
    this.listeners?.delete(observer);
  }

  store(store: object): void {
    const { overflowed } = store as Partial<Overflowing>;
    if (typeof overflowed !== 'number') return;
    this.each('', (observer) => observer.onStore?.(store as Overflowing));
  }

  control(control: Control): void {
    // `in`, because a getter of a custom control may throw.
    if ('settingsLost' in control) this.each('', (observer) => observer.onControl?.(control));
  }

  fault(fault: Fault): void {
    for (const observer of this.observers) {
      try {
        disregard(observer.onFault?.(fault));
      } catch {
        // If `onFault` itself fails, there is nowhere else to report it.
      }
    }
    try {
      this.logFault?.(fault);
    } catch {
      // A fault that cannot be logged must not fail the request.
    }
  }

  private each(
    limiter: string,
    call: (observer: Observer) => unknown,
    observers = this.observers,
  ): void {
    for (const observer of observers) {
      try {
        this.watchPromise(limiter, call(observer));
      } catch (error) {
        this.fault({ limiter, source: 'observer', error });
      }
    }
  }

  private watchPromise(limiter: string, returned: unknown): void {
    if (!isThenable(returned)) return;
    returned.then(undefined, (error) => this.fault({ limiter, source: 'observer', error }));
  }
}

/** Copies property by property, because a spread would cost more than all observers together. */
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
    over: decision.over,
    policy: decision.policy,
    signal: decision.signal,
    priority: decision.priority,
    mode,
  };
}
