import {
  type Answer,
  type Clock,
  type Logger,
  SpillwayError,
  type Step,
  type Store,
} from '@spillway/core';
import type { NamesOf } from '@spillway/core/adapter';
import {
  type ApplyOptions,
  askParts,
  countOf,
  MAX_STEPS,
  partsOf,
  positiveInteger,
  type Rule,
  remoteStore,
  spread,
  tooLarge,
  uniqueGroup,
  type Values,
} from '@spillway/core/store';
import { Batches, type Group, GroupCalls } from './calls/group-calls.js';
import { Silence, Transport } from './calls/transport.js';
import { redisValues } from './calls/values.js';
import { checkRedisOptions } from './check-options.js';
import { type AnyRedisClient, asRedisClient } from './clients/as-redis-client.js';
import type { RedisClient } from './clients/client.js';
import { type KeyNamer, keyNamer, prefixFrom } from './codec/keys.js';
import { productionScript, type Script } from './codec/script.js';
import { Registry, resetsKey } from './control/registry.js';
import { LimiterScripts } from './control/tagged-scripts.js';
import { hashSlotOf } from './hash-slot.js';

/**
 * How long a rejection is cached at most on a Cluster. The time is short, because the charges that caused the rejection
 * may be refunded a moment later, if another slot rejects their group.
 */
const DENIALS_LAST_US = 1_000_000;

/** Options of {@link redisStore}. */
export interface RedisStoreOptions {
  /**
   * A secret with which every key is hashed (HMAC-SHA-256). Without it, only keys longer than 256 characters are
   * hashed.
   */
  readonly hashKeys?: string | Uint8Array | undefined;
  /**
   * The prefix of all key names: 1 to 32 of `A-Z a-z 0-9 : _ - . ,`. Stores and controls with different prefixes share
   * nothing. Default `'spw:'`.
   */
  readonly prefix?: string | undefined;
  /**
   * The most steps in one script call. This bounds how long a call keeps Redis busy. Default 128. A larger group gets
   * its own call.
   */
  readonly maxSteps?: number | undefined;
  /** Whether decisions of one event loop turn share a script call. Default true; false for an Upstash client. */
  readonly coalesce?: boolean | undefined;
  /** Receives a warning if Redis can't store or read the list of limiters. Default: the console. */
  readonly logger?: Logger | false | undefined;
  /**
   * Whether the store may close an open connection of your client that has had no reply for 2 s. Set this for
   * node-redis, or ioredis without `socketTimeout`. With a node-redis cluster or an Upstash client, which can't
   * reconnect, `redisStore` throws. Default false.
   */
  readonly reconnect?: boolean | undefined;
}

const NAMES: NamesOf<RedisStoreOptions> = {
  hashKeys: 1,
  prefix: 1,
  maxSteps: 1,
  coalesce: 1,
  logger: 1,
  reconnect: 1,
};

/** The store of {@link redisStore}. */
export interface RedisStore extends Store {
  readonly sync: false;
  /** Stores values, which Redis deletes at their expiry. */
  readonly values: Values;
  register(limiter: string, rule: Rule): void;
  apply(steps: readonly Step[], options?: ApplyOptions): Promise<readonly Answer[]>;
}

/**
 * Keeps counts in Redis, shared by all processes. One script call decides a group of limits atomically, by Redis's
 * clock; on Cluster, each hash slot needs its own call. You still own the client: set its options, open it
 * (node-redis), handle its errors and close it.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { createLimiter } from '@spillway/core';
 * import { redisStore } from '@spillway/redis';
 *
 * const limiter = createLimiter({ name: 'login', limit: 5, window: '1m' }, { store: redisStore(redis) });
 * (await limiter.consume('ada')).remaining; // 4
 * ```
 */
export function redisStore(client: AnyRedisClient, options: RedisStoreOptions = {}): RedisStore {
  return remoteStore(new Redis(asRedisClient(client), productionScript(), options));
}

export class Redis implements RedisStore {
  readonly sync = false;
  readonly testClock?: Clock;
  readonly denialsLastUs?: number;
  readonly values: Values;

  /** On a Cluster, the address of the node that stores the key. */
  readonly domainOf?: (step: Step) => string;
  private readonly nameOf: KeyNamer;
  private readonly batches: Batches;
  private readonly isCluster: boolean;
  private readonly registry: Registry;
  private readonly client: RedisClient;

  constructor(client: RedisClient, script: Script, options: RedisStoreOptions, testClock?: Clock) {
    checkRedisOptions(options, 'redisStore()', NAMES);
    this.client = client;
    const { maxSteps = 128, coalesce = client.coalesce ?? true, hashKeys, reconnect } = options;
    const prefix = prefixFrom(options.prefix);
    positiveInteger('maxSteps', maxSteps);
    if (reconnect && !client.reconnect) {
      throw new SpillwayError(
        'SPW_OPTION_INVALID',
        'reconnect must be left out: this client has no connection that the store could end',
      );
    }
    this.nameOf = keyNamer(hashKeys, prefix);
    this.isCluster = client.isCluster === true;
    if (testClock) this.testClock = testClock;
    if (this.isCluster) this.denialsLastUs = DENIALS_LAST_US;
    if (this.isCluster && client.nodeOf) {
      this.domainOf = (step) => client.nodeOf?.(hashSlotOf(this.name(step))) ?? '';
    }
    const isWatched = reconnect === true || client.cure !== undefined;
    const silence = isWatched ? new Silence(client, reconnect === true) : undefined;
    const transport = new Transport(client, silence);
    this.registry = new Registry(new LimiterScripts(transport, prefix), options.logger);
    const again = (group: Group) => this.batches.enqueue(group);
    this.values = redisValues(transport, this.nameOf, testClock);
    const calls = new GroupCalls(transport, script, again, testClock);
    this.batches = new Batches(calls, maxSteps, coalesce);
  }

  register(limiter: string, rule: Rule): void {
    this.registry.register(limiter, rule);
  }

  apply(steps: readonly Step[], options?: ApplyOptions): Promise<readonly Answer[]> {
    if (steps.length === 0) return Promise.resolve([]);
    if (steps.length > MAX_STEPS) return Promise.reject(tooLarge());
    this.registry.keepUp();
    const group = uniqueGroup(steps);
    const deadlineUs = options?.deadlineUs ?? Infinity;
    // Work without a deadline, such as a release, may share a call with any other.
    const isBackground = options?.background === true && deadlineUs !== Infinity;
    const answers = group.steps.some(resetsKey)
      ? this.askWithResets(group.steps, deadlineUs)
      : this.askSteps(group.steps, deadlineUs, isBackground);
    return group.places ? answers.then((all) => spread(group, all)) : answers;
  }

  get label(): string {
    return this.client.label ?? 'Redis';
  }

  private readonly name = (step: Step): string =>
    this.nameOf(step.limiter, step.key, countOf(step));

  /**
   * Sends the steps. A reset clears all counts of its limiter and key. Counts for which this process has a rule are
   * cleared together with the steps; the others are cleared after Redis has listed them.
   */
  private async askWithResets(
    steps: readonly Step[],
    deadlineUs: number,
  ): Promise<readonly Answer[]> {
    const asked = this.askSteps([...steps, ...this.registry.ownResets(steps)], deadlineUs);
    const noted = this.registry
      .notedResets(steps, deadlineUs)
      .then((others) => (others.length > 0 ? this.askSteps(others, deadlineUs) : []));
    const [answers] = await Promise.all([asked, noted]);
    return answers.slice(0, steps.length);
  }

  private askSteps(
    steps: readonly Step[],
    deadlineUs: number,
    isBackground = false,
  ): Promise<readonly Answer[]> {
    const redisKeys = steps.map(this.name);
    return this.isCluster
      ? this.askCluster(steps, redisKeys, deadlineUs, isBackground)
      : this.askSlot(steps, redisKeys, 0, deadlineUs, isBackground);
  }

  private askSlot(
    steps: readonly Step[],
    redisKeys: string[],
    slot: number,
    deadlineUs: number,
    isBackground: boolean,
  ): Promise<readonly Answer[]> {
    return new Promise((resolve, reject) => {
      this.batches.enqueue({ steps, redisKeys, slot, deadlineUs, isBackground, resolve, reject });
    });
  }

  private askCluster(
    steps: readonly Step[],
    redisKeys: string[],
    deadlineUs: number,
    isBackground: boolean,
  ): Promise<readonly Answer[]> {
    const slots = redisKeys.map(hashSlotOf);
    const slot = slots[0] as number;
    if (slots.every((other) => other === slot))
      return this.askSlot(steps, redisKeys, slot, deadlineUs, isBackground);
    const parts = partsOf(steps, (_, place) => slots[place] as number);
    return askParts(parts, (part, partSlot, always) => {
      const own = part.map(this.name);
      const until = always ? Infinity : deadlineUs;
      return this.askSlot(part, own, partSlot, until, !always && isBackground);
    });
  }
}
