/** The one way to a store for whoever has limits in it: guards, and limits without HTTP. */

import { checkClock } from '../base/checks.js';
import type { Clock } from '../base/clock.js';
import { consoleLogger, type Eventually } from '../base/host.js';
import type { Turns } from '../base/turns.js';
import type { Answer } from '../contract/ask.js';
import type { Validate } from '../contract/observer.js';
import type { Rule } from '../contract/rule.js';
import type { Step, Store } from '../contract/store.js';
import type { Host, Policies, StoreLink } from '../contract/store-link.js';
import type { Room, UpkeepClient } from '../contract/upkeep.js';
import { type SharedMemory, sharedMemory } from '../memory/shared-memory.js';
import type { Observers } from '../observe/observers.js';
import { checkStore } from './check-store.js';
import { type ResilienceOptions, resilienceOf } from './resilience-options.js';
import { type SharedState, sharedState } from './shared-state.js';

export interface StoreClientOptions extends ResilienceOptions {
  /** Where counts live. Default: this process's memory, where each limiter object counts apart. */
  readonly store?: Store | undefined;
  /**
   * Source of time of this process: for counts where no store is given, and for what is known of a store, such as its
   * outages and its refusals. A store decides by a clock of its own. Default the process's monotonic clock. The first
   * to use a store sets it for all.
   */
  readonly clock?: Clock | undefined;
  /**
   * Whether a key that was refused is refused again, until the moment it was promised, without asking a store that
   * answers later. What this process gives back through the same store object is noticed at once, refunds and resets by
   * others within a minute. Default true.
   */
  readonly denialCache?: boolean | undefined;
  /**
   * Which lines about probable mistakes go to `logger`, each once: all (`true`, default), none (`false`), or all but
   * some, as in `{ SPW_WINDOW_SHORT: false }`. What is thrown is thrown all the same.
   */
  readonly validate?: Validate | undefined;
}

type Answers = readonly Answer[];
type Named = { readonly name: string };

/** Its answers are never missing: it neither throws nor rejects, for a store that fails is answered for by policy. */
export class StoreClient implements UpkeepClient<Step> {
  /** Whether every answer comes at once. */
  readonly sync: boolean;
  /** What permits, and all else that counts time beside the store, go by. */
  readonly clock: Clock;
  /** Whether the store is in our own memory and decides by {@link clock}. */
  readonly hasOurTime: boolean;
  /** The room that users of the store share for releases that did not reach it. */
  readonly releaseRoom: Room;
  /** Its users ask through this client; what they learn of the store itself, they keep. */
  readonly store: Store;
  private readonly link: StoreLink;
  private readonly memory: SharedMemory | undefined;
  private readonly shared: SharedState;

  /**
   * @param observers told of calls of the store and of its outages
   * @param policies for the line in the log that tells of an outage
   * @throws SpillwayError `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`
   */
  constructor(options: StoreClientOptions, observers: Observers | undefined, policies: Policies) {
    const { clock, denialCache = true, logger = consoleLogger() } = options;
    checkClock(clock);
    this.memory = options.store ? undefined : sharedMemory(clock);
    const store = options.store ? checkStore(options.store) : (this.memory as SharedMemory).store;
    this.store = store;
    this.shared = sharedState(store, clock);
    this.sync = store.sync;
    this.clock = this.shared.clock;
    this.releaseRoom = this.shared.releaseRoom;
    this.link = store.link({
      resilience: resilienceOf(options, policies),
      remembers: denialCache,
      logger,
      clock,
      turns: this.shared.turns,
      observers,
    });
    this.hasOurTime = this.link.clock === this.clock;
    observers?.store(store);
  }

  /** What stands for a limiter in the store: its name, or without a store a text that no other object has. */
  nameOf(limiter: Named): string {
    return this.memory ? this.memory.nameOf(limiter) : limiter.name;
  }

  /** How many limiters were made without a store, this one among them; 0 if this one has a store. */
  get withoutStore(): number {
    return this.memory?.limiters ?? 0;
  }

  /**
   * To be called for each limiter before its first step.
   *
   * @throws SpillwayError `SPW_NAME_CONFLICT` if its name stands for other numbers in this store
   */
  claim(limiter: Named, rule: Rule): void {
    this.shared.names.claim(this.nameOf(limiter), rule);
  }

  /** To be called before a step whose rule a function or a live change made: perhaps it is another count. */
  note(limiter: Named & { readonly rule: Rule }, rule: Rule): void {
    if (rule.code !== limiter.rule.code) this.store.register?.(this.nameOf(limiter), rule);
  }

  /** See {@link StoreLink}. */
  known(step: Step): Answer | undefined {
    return this.link.known(step);
  }

  /** For promises that may be settled already. */
  get turns(): Turns {
    return this.shared.turns;
  }

  /** A promise of what is known without the store, which lets the event loop turn now and then. */
  soon<Value>(value: Value): Promise<Value> {
    return this.turns.soon(value);
  }

  /** See {@link StoreLink}. */
  askNow(step: Step): Answer | undefined {
    return this.link.askNow(step);
  }

  /** See {@link StoreLink}. */
  ask<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
    host?: Host,
  ): Eventually<Value> {
    return this.link.ask(steps, then, host);
  }

  /** See {@link StoreLink}. */
  giveBack<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
    forUs?: number,
  ): Eventually<Value> {
    return this.link.giveBack(steps, then, forUs);
  }

  /** See {@link StoreLink}. */
  renew(steps: readonly Step[], forUs: number): Eventually<Answers> {
    return this.link.renew(steps, forUs);
  }

  /** See {@link StoreLink}. */
  forgetAll(): void {
    this.link.forgetAll();
  }

  /** See {@link StoreLink}. */
  forgetReset(limiter: string, key: string): void {
    this.link.forgetReset(limiter, key);
  }
}
