/** How the users of a store ask it: each store brings the code for that, and with it what happens when it fails. */

import type { Clock } from '../base/clock.js';
import type { Eventually, Logger } from '../base/host.js';
import type { Answer } from './ask.js';
import type { OnStoreError } from './decision.js';
import type { BreakerEvent, StoreCallEvent } from './observer.js';
import type { ApplyOptions, Step, Store } from './store.js';

/** A store that guards and limiters take: `memoryStore()`, or what has passed through `remoteStore`. */
export type LinkedStore = Store & Linked;

/** What every store has that guards and limiters take. */
export interface Linked {
  /** The way of one user to this store. */
  link(user: StoreUser): StoreLink;
}

/** A guard or a limiter without HTTP, as its store knows it. */
export interface StoreUser {
  readonly resilience: Resilience;
  /** Whether it wants refusals to be remembered. */
  readonly remembers: boolean;
  /** Where the lines about outages go. */
  readonly logger: Logger | false;
  /** If the user has set one. */
  readonly clock: Clock | undefined;
  /** Told of calls of the store and of its outages. */
  readonly observers: StoreObservers | undefined;
}

interface StoreObservers {
  /** Whether anybody takes what `storeCall` is told. */
  readonly hearsStoreCalls: boolean;
  storeCall(event: StoreCallEvent): void;
  breaker(event: BreakerEvent): void;
}

/** What keeps alive what a request began, where the platform ends it with the request. */
export interface Host {
  /** True if the platform now waits for `promise`; false, or no such method: it cannot be asked to. */
  waitUntil?(promise: Promise<unknown>): boolean;
}

/** What an {@link StoreLink.ask} is told beside its steps. */
export interface AskOptions extends ApplyOptions {
  /** Of the request that asks. */
  readonly host?: Host | undefined;
}

type Then<Value> = (answers: readonly Answer[]) => Eventually<Value>;

/**
 * One user's way to a store. Answers are never missing: it neither throws nor rejects, for a store that fails is
 * answered for by the policy of each step, with the reason in `failure`.
 */
export interface StoreLink {
  /** By which the store decides, if it is in our own memory. */
  readonly clock: Clock | undefined;
  /** {@link ask} for one step where no promise and no list is needed; undefined where the store must be asked. */
  askNow(step: Step): Answer | undefined;
  /** The answer to a step that is sure to be refused; undefined if the store must be asked. */
  known(step: Step): Answer | undefined;
  /** A promise of what is known without the store, which lets the event loop turn now and then. */
  soon<Value>(value: Value): Promise<Value>;
  /** What `then` makes of the answers. Each layer before a store has this method. */
  ask<Value>(steps: readonly Step[], then: Then<Value>, options?: AskOptions): Eventually<Value>;
  /**
   * {@link ask} for steps that give back, `put` and `reset`. What they free may not be refused from memory: neither
   * while the store does them, nor by an answer that was on its way meanwhile.
   *
   * @param forUs if given: how long the store has; no request waits for it, and its failure is no outage
   */
  giveBack<Value>(steps: readonly Step[], then: Then<Value>, forUs?: number): Eventually<Value>;
  /** Renews permits: no request waits for it, and its failure is no outage. `forUs`: how long the store has. */
  renew(steps: readonly Step[], forUs: number): Eventually<readonly Answer[]>;
  /** Something was changed live: no remembered refusal may hold any more. */
  forgetAll(): void;
  /** A key was reset elsewhere, and the store knows: so must what counts for it when it fails. */
  forgetReset(limiter: string, key: string): void;
}

/** Limiters that use the store, and what each does when it cannot answer. */
export type Policies = readonly (readonly [limiter: string, policy: OnStoreError])[];

export interface BreakerSettings {
  /** Calls in a row that must fail before a part of the store is taken for down. */
  readonly failures: number;
  /** How often, at most, it is asked meanwhile whether it is back, in microseconds. */
  readonly probeUs: number;
  /** What takes longer is slow, in microseconds; left out: what takes longer than in healthy minutes. */
  readonly slowUs?: number | undefined;
}

export interface Resilience {
  /** How long a request waits for the store, in microseconds. */
  readonly timeoutUs: number;
  /** Undefined: there is none. */
  readonly breaker: BreakerSettings | undefined;
  readonly policies: Policies;
}
