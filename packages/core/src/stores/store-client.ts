import { checkClock } from '../base/checks.js';
import { type Clock, systemClock } from '../base/clock.js';
import { SpillwayError } from '../base/errors.js';
import { getOrMake } from '../base/get-or-make.js';
import { consoleLogger } from '../base/host.js';
import type { Control } from '../contract/control.js';
import type { ControlLink, LinkedControl } from '../contract/control-link.js';
import type { Fault, Observer, Validate } from '../contract/observer.js';
import { type Rule, sameRule } from '../contract/rule.js';
import type { Step, Store } from '../contract/store.js';
import type { Policies, StoreLink } from '../contract/store-link.js';
import type { Room, UpkeepClient } from '../contract/upkeep.js';
import { sharedMemory } from '../memory/memory.js';
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
  /** Live settings: modes, shares, limits, blocked and allowed keys. Default: none. */
  readonly control?: Control | undefined;
  /**
   * Called when the store, the control, an observer or one of your callbacks fails. Default: `logger` gets at most one
   * line per minute for each limiter and source, or for each kind of store error.
   */
  readonly onFault?: ((fault: Fault) => void) | undefined;
  /** More observers, such as those of `@spillway/prometheus` and `@spillway/opentelemetry`. */
  readonly observers?: readonly Observer[] | undefined;
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
  private readonly hasStore: boolean;
  private readonly shared: SharedState;

  constructor(options: StoreClientOptions, observers: Observers | undefined, policies: Policies) {
    const { clock, denialCache = true, logger = consoleLogger() } = options;
    checkClock(clock);
    this.hasStore = options.store !== undefined;
    const store = options.store ? checkStore(options.store) : sharedMemory(clock);
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
    if (this.hasStore) return limiter.name;
    return getOrMake(this.shared.nameless, limiter, () => {
      this.shared.withoutStore += 1;
      return this.shared.withoutStore.toString(36);
    });
  }

  // How many limiters of this process share the memory because they have no store; 0 if this client has a store.
  get withoutStore(): number {
    return this.shared.withoutStore;
  }

  // Registers a limiter before its first step. Throws if its name already has other numbers in this store.
  claim(limiter: Named, rule: Rule): void {
    const { rules } = this.shared;
    const name = this.nameOf(limiter);
    const known = rules.get(name);
    if (known && !sameRule(known, rule)) {
      throw new SpillwayError(
        'SPW_NAME_CONFLICT',
        `name "${name}" is ${numbers(known)} in this store, not ${numbers(rule)}: give each limit its own name, or both the same numbers`,
      );
    }
    // Names come from code, so there are few. If an app builds them from client input, further names are not checked,
    // so memory stays bounded.
    if (rules.size < KEPT) rules.set(name, rule);
    this.store.register?.(name, rule);
  }

  // Call this before a step whose rule comes from a plan or a live change: the store may not know that rule yet.
  note(limiter: Named & { readonly rule: Rule }, rule: Rule): void {
    if (rule.code !== limiter.rule.code) this.store.register?.(this.nameOf(limiter), rule);
  }
}

/** The most memory for releases that wait for a store: a million permits can end during an outage. */
const RELEASE_BYTES = 16 * 1024 * 1024;

const KEPT = 10_000;

interface SharedState {
  readonly clock: Clock;
  readonly releaseRoom: Room;
  /** The rules by the names of their limiters in the store. */
  readonly rules: Map<string, Rule>;
  /** The names of limiters that have no store. */
  readonly nameless: WeakMap<Named, string>;
  withoutStore: number;
}

/** Kept outside the store object, which may be frozen, be a proxy, or have private fields. */
const states = new WeakMap<Store, SharedState>();

/** Returns the shared state of a store. Only the `clock` of the first call is used. */
function sharedState(store: Store, clock: Clock = systemClock): SharedState {
  return getOrMake(states, store, () => ({
    clock,
    releaseRoom: { bytes: RELEASE_BYTES },
    rules: new Map(),
    nameless: new WeakMap(),
    withoutStore: 0,
  }));
}

function numbers(rule: Rule): string {
  if (rule.soft) return `${numbers(rule.soft)} with overage`;
  const { algorithm, ...declared } = rule.logic.declared(rule);
  const texts = Object.entries(declared).map(([name, value]) => `${name} ${value}`);
  return `${algorithm} (${texts.join(', ')})`;
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
