/**
 * The interface through which guards and limiters call a store. The store supplies the implementation, so apps don't
 * bundle code for other stores.
 */

import type { Clock } from '../base/clock.js';
import type { Eventually, Logger } from '../base/host.js';
import type { OnStoreError } from './decision.js';
import type { BreakerEvent, StoreCallEvent } from './observer.js';
import type { Answer } from './rule.js';
import type { ApplyOptions, Step, Store } from './store.js';

/** A store that guards and limiters accept: `memoryStore()`, or a store wrapped by `remoteStore`. */
export type LinkedStore = Store & Linked;

/** The part of a {@link LinkedStore} that links it to guards and limiters. */
export interface Linked {
  link(user: StoreUser): StoreLink;
}

/** A guard, or a limiter used without HTTP, as its store sees it. */
export interface StoreUser {
  readonly resilience: Resilience;
  readonly cachesDenials: boolean;
  readonly logger: Logger | false;
  readonly clock: Clock | undefined;
  readonly observers: StoreObservers | undefined;
}

interface StoreObservers {
  readonly wantsStoreCalls: boolean;
  storeCall(event: StoreCallEvent): void;
  listenTo(listeners: Map<object, (event: BreakerEvent) => void>): void;
}

/** Keeps work of a request alive on platforms that stop it when the request ends. */
export interface Host {
  /** True if the platform now waits for `promise`. False or missing if the platform can't. */
  waitUntil?(promise: Promise<unknown>): boolean;
}

export interface AskOptions extends ApplyOptions {
  readonly host?: Host | undefined;
}

type Then<Value> = (answers: readonly Answer[]) => Eventually<Value>;

/**
 * The link of one guard or limiter to a store. Its methods neither throw nor reject: if the store fails, each step is
 * answered as its `onStoreError` says, with the reason in `failure`.
 */
export interface StoreLink {
  /** The clock by which a memory store decides; undefined for other stores. */
  readonly clock: Clock | undefined;
  /** {@link ask} for one step, without a promise or a list; undefined if {@link ask} must be called. */
  askNow(step: Step): Answer | undefined;
  /** The cached rejection of a step; undefined if the store must be called. */
  known(step: Step): Answer | undefined;
  /** `value` as a promise. With `remoteStore`, it sometimes waits for the event loop, which lets I/O run. */
  soon<Value>(value: Value): Promise<Value>;
  /** Sends the steps to the store. Returns what `then` returns for the answers. */
  ask<Value>(steps: readonly Step[], then: Then<Value>, options?: AskOptions): Eventually<Value>;
  /**
   * Like {@link ask}, for steps that refund, release or reset. Their keys are removed from the denial cache before the
   * call and again after it, because a rejection by another call may be cached in between.
   *
   * @param forUs the timeout. Set it only if no request waits, as for renewals; a failure then doesn't count as an
   * outage
   */
  giveBack<Value>(steps: readonly Step[], then: Then<Value>, forUs?: number): Eventually<Value>;
  /** Clears the denial cache, because a live setting has changed. */
  forgetAll(): void;
  /** Drops a key from the fallback counters, because it was reset in the store. */
  forgetReset(limiter: string, key: string): void;
}

export type Policies = readonly (readonly [limiter: string, policy: OnStoreError])[];

export interface BreakerSettings {
  /** Failed calls in a row after which a part of the store is considered down. */
  readonly failures: number;
  /** The shortest time between two probes of a part that is down, in microseconds. */
  readonly probeUs: number;
  /** The duration above which a call is slow, in microseconds. If omitted, it is learned from the usual latency. */
  readonly slowUs?: number | undefined;
}

export interface Resilience {
  readonly timeoutUs: number;
  /** If undefined, there is no circuit breaker. */
  readonly breaker: BreakerSettings | undefined;
  readonly policies: Policies;
}
