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
  /** Where counts live. Default: this process's memory, where each limiter object has separate counts. */
  readonly store?: Store | undefined;
  /**
   * Source of time, for tests: for counts without a store, and for all times measured outside the store, such as those
   * of permits. A store has its own clock. Default: the process's monotonic clock.
   */
  readonly clock?: Clock | undefined;
  /**
   * Whether a key that an asynchronous store rejected is rejected again without a store call, until its `retryAfterMs`
   * has passed, for at most a minute. Refunds and resets by other processes take effect within a minute. Default true.
   */
  readonly denialCache?: boolean | undefined;
  /**
   * Which warnings about probable mistakes go to `logger`: all with `true` (default), none with `false`, or all but
   * some, as with `{ SPW_WINDOW_SHORT: false }`.
   */
  readonly validate?: Validate | undefined;
}

type Named = { readonly name: string };

/** Calls a store for limits. If the store fails, nothing throws or rejects: `onStoreError` determines the answer. */
export class StoreClient implements UpkeepClient<Step> {
  readonly sync: boolean;
  // The clock for permits, and for everything else outside the store that measures time.
  readonly clock: Clock;
  // Whether the store is in this process's memory and decides by `clock`.
  readonly hasOurTime: boolean;
  // Free memory for releases that did not reach the store, shared by all clients of the store.
  readonly releaseRoom: Room;
  // Used for its identity and properties. Calls go through `link`.
  readonly store: Store;
  readonly link: StoreLink;
  private readonly memory: SharedMemory | undefined;
  private readonly shared: SharedState;

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
      cachesDenials: denialCache,
      logger,
      clock,
      observers,
    });
    this.hasOurTime = this.link.clock === this.clock;
    observers?.store(store);
  }

  // The limiter's name in the store; without a store, a string unique to the limiter object.
  nameOf(limiter: Named): string {
    return this.memory ? this.memory.limiterNameOf(limiter) : limiter.name;
  }

  // How many limiters of this process share the memory because they have no store; 0 if this client has a store.
  get withoutStore(): number {
    return this.memory?.limiters ?? 0;
  }

  // Registers a limiter before its first step. Throws if its name already has other numbers in this store.
  claim(limiter: Named, rule: Rule): void {
    this.shared.names.claim(this.nameOf(limiter), rule);
  }

  // Call this before a step whose rule comes from a plan or a live change: the store may not know that rule yet.
  note(limiter: Named & { readonly rule: Rule }, rule: Rule): void {
    if (rule.code !== limiter.rule.code) this.store.register?.(this.nameOf(limiter), rule);
  }
}

/**
 * Maximum size of the releases that wait for a store to come back, because a million permits can end during an outage.
 */
const RELEASE_BYTES = 16 * 1024 * 1024;

class SharedState {
  readonly clock: Clock;
  readonly names: NameRegistry;
  readonly releaseRoom: Room = { bytes: RELEASE_BYTES };

  constructor(store: Store, clock: Clock | undefined) {
    this.clock = clock ?? systemClock;
    this.names = new NameRegistry(store);
  }
}

/** Kept outside the store object, which may be frozen, be a proxy, or have private fields. */
const states = new WeakMap<Store, SharedState>();

/** Returns the shared state of a store. Only the `clock` of the first call is used. */
function sharedState(store: Store, clock?: Clock): SharedState {
  const known = states.get(store);
  if (known) return known;
  const state = new SharedState(store, clock);
  states.set(store, state);
  return state;
}

const KEPT = 10_000;

/** Throws if limiters with the same store and name have different rules. */
class NameRegistry {
  private readonly rules = new Map<string, Rule>();
  private readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  claim(name: string, rule: Rule): void {
    const known = this.rules.get(name);
    if (known && !sameRule(known, rule)) {
      throw new SpillwayError(
        'SPW_NAME_CONFLICT',
        `name "${name}" is ${numbers(known)} in this store, not ${numbers(rule)}: give each limit its own name, or both the same numbers`,
      );
    }
    // Names come from code, so there are few. If an app builds them from client input, further names are not checked,
    // so memory stays bounded.
    if (this.rules.size < KEPT) this.rules.set(name, rule);
    this.store.register?.(name, rule);
  }
}

function numbers(rule: Rule): string {
  if (rule.soft) return `${numbers(rule.soft)} with overage`;
  const { described, declared } = rule.logic;
  if (described) return described(rule);
  const { limit, windowMs, algorithm } = declared(rule);
  return `${limit} per ${windowMs} ms (${algorithm}, at once ${capacityOf(rule)})`;
}

/** Links the client of a store to the control that changes the limits live. */
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
