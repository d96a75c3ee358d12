/** The one way from limits, in guards or without HTTP, to their store, and what all users of one store share. */

import { checkClock } from '../base/checks.js';
import { type Clock, systemClock } from '../base/clock.js';
import { SpillwayError } from '../base/errors.js';
import { consoleLogger } from '../base/host.js';
import type { Control } from '../contract/control.js';
import type { ControlLink, LinkedControl } from '../contract/control-link.js';
import type { Fault, Validate } from '../contract/observer.js';
import { capacityOf, type Rule, sameRule } from '../contract/rule.js';
import type { Step, Store } from '../contract/store.js';
import type { Policies, StoreLink } from '../contract/store-link.js';
import type { Room, UpkeepClient } from '../contract/upkeep.js';
import { type SharedMemory, sharedMemory } from '../memory/shared-memory.js';
import type { Observers } from '../observe/observers.js';
import { checkStore } from './check-store.js';
import { type ResilienceOptions, resilienceOf } from './resilience-options.js';

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
  /** The way to the store of these limiters. */
  readonly link: StoreLink;
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
}

/** Bytes that the lost releases of all users of a store may take: a million permits could end while it is away. */
const RELEASE_BYTES = 16 * 1024 * 1024;

/** One record for each store object: what one user learns, the others know. */
class SharedState {
  readonly clock: Clock;
  readonly names: NameRegistry;
  /** For releases that did not reach the store. */
  readonly releaseRoom: Room = { bytes: RELEASE_BYTES };

  constructor(store: Store, clock: Clock | undefined) {
    this.clock = clock ?? systemClock;
    this.names = new NameRegistry(store);
  }
}

/** Beside the store, not in it: a store may be frozen, a proxy, or an object of a class with private fields. */
const states = new WeakMap<Store, SharedState>();

/** The record of `store`; made for its first user, whose `clock` then holds for all. */
function sharedState(store: Store, clock?: Clock): SharedState {
  const known = states.get(store);
  if (known) return known;
  const state = new SharedState(store, clock);
  states.set(store, state);
  return state;
}

/** How many names are compared. */
const KEPT = 10_000;

/** One name, one rule: two limiters that share a store and a name must share their numbers. */
class NameRegistry {
  private readonly rules = new Map<string, Rule>();
  private readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  /**
   * Notes that `name` stands for `rule`, and tells the store.
   *
   * @throws SpillwayError `SPW_NAME_CONFLICT` if it stands for other numbers already.
   */
  claim(name: string, rule: Rule): void {
    const known = this.rules.get(name);
    if (known && !sameRule(known, rule)) {
      throw new SpillwayError(
        'SPW_NAME_CONFLICT',
        `name "${name}" already stands for ${numbers(known)} in this store, and cannot stand for ${numbers(rule)}: give each limit its own name, or both the same numbers`,
      );
    }
    // Names come from code, so there are few. An app that makes them of what clients send loses the check, not memory.
    if (this.rules.size < KEPT) this.rules.set(name, rule);
    this.store.register?.(name, rule);
  }
}

function numbers(rule: Rule): string {
  const { described, declared } = rule.logic;
  if (described) return described(rule);
  const { limit, windowMs, algorithm } = declared(rule);
  return `${limit} per ${windowMs} ms (${algorithm}, at once ${capacityOf(rule)})`;
}

/**
 * Links what uses a store to the control that changes its limits live.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID` for a control that has not passed through `liveControl`
 */
export function linkTo(
  control: Control,
  client: StoreClient,
  context: { fault(fault: Fault): void },
): ControlLink {
  const { link } = control as Partial<LinkedControl>;
  if (typeof link !== 'function') {
    throw new SpillwayError(
      'SPW_OPTION_INVALID',
      "control must have passed through liveControl of '@spillway/core/control': write liveControl(control)",
    );
  }
  return (control as LinkedControl).link({
    fault: (fault) => context.fault(fault),
    forgetAll: () => client.link.forgetAll(),
    forgetReset: (limiter, key) => client.link.forgetReset(limiter, key),
  });
}
