/** The store on Redis. */

import {
  type Answer,
  type Clock,
  type Logger,
  SpillwayError,
  type Step,
  type Store,
} from '@spillway/core';
import {
  type ApplyOptions,
  countOf,
  MAX_STEPS,
  positiveInteger,
  type Rule,
  spread,
  tooLarge,
  uniqueGroup,
} from '@spillway/core/store';
import slotOf from 'cluster-key-slot';
import { Batches } from './calls/batches.js';
import { askSlots } from './calls/cross-slot.js';
import { ReadyQueue } from './calls/ready-queue.js';
import { ScriptCalls } from './calls/script-calls.js';
import { Silence } from './calls/silence.js';
import { asRedisClient } from './clients/as-redis-client.js';
import type { RedisClient } from './clients/client.js';
import type { IoredisClient } from './clients/ioredis.js';
import { type KeyNamer, keyNamer } from './codec/keys.js';
import { productionScript, type Script } from './codec/script.js';
import { Registry } from './control/registry.js';
import { Scripts } from './control/scripts.js';

/** How long a refusal is remembered on a Cluster. */
const REFUSALS_LAST_US = 1_000_000;

/** All optional. */
export interface RedisStoreOptions {
  /**
   * A secret: no key is then stored as it is, but as its HMAC-SHA-256. Without it, only keys longer than 256 are
   * hashed.
   */
  readonly hashKeys?: string | Uint8Array | undefined;
  /**
   * The most steps in one script call, so that Redis is never kept long. Default 128. A larger group goes alone, whole.
   */
  readonly maxSteps?: number | undefined;
  /**
   * Whether decisions asked in one turn of the event loop travel in one script call. Default true; over HTTP, false.
   */
  readonly coalesce?: boolean | undefined;
  /**
   * Told in one line, at most once a minute, that Redis does not take or tell the names and codes of limiters: then a
   * reset
   * forgets only what this process counts under. Default: the console.
   */
  readonly logger?: Logger | false | undefined;
  /**
   * Whether the store may end a connection of your client that is open but has answered nothing for 2 s, once a minute
   * at most, so
   * that the client makes another: for node-redis, and for ioredis without `socketTimeout`. Default false: one line
   * tells you.
   */
  readonly reconnect?: boolean | undefined;
}

/** What {@link redisStore} returns. */
export interface RedisStore extends Store {
  readonly sync: false;
  register(limiter: string, rule: Rule): void;
  apply(steps: readonly Step[], options?: ApplyOptions): Promise<readonly Answer[]>;
}

/**
 * Keeps counts in Redis, for a whole fleet: each group of limits is one atomic step in one script call, by Redis's own
 * clock. ioredis is taken as it is, the others through {@link fromNodeRedis}, {@link fromNodeRedisCluster} or
 * {@link fromUpstash}. The client stays yours: options, errors, closing.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 * @example
 * ```ts
 * import { createLimiter } from '@spillway/core';
 * import { redisStore } from '@spillway/redis';
 *
 * const limiter = createLimiter({ name: 'login', limit: 5, window: '1m' }, { store: redisStore(redis) });
 * (await limiter.consume('ada')).remaining; // 4
 * ```
 */
export function redisStore(
  client: IoredisClient | RedisClient,
  options: RedisStoreOptions = {},
): RedisStore {
  return new Redis(asRedisClient(client), productionScript(), options);
}

/** The store with another script, and the clock that it asks for. */
export class Redis implements RedisStore {
  readonly sync = false;
  readonly testClock?: Clock;
  readonly refusalsLastUs?: number;

  /** The node that has the key, on Cluster where the client tells. */
  readonly domainOf?: (step: Step) => string;
  private readonly nameOf: KeyNamer;
  private readonly batches: Batches;
  private readonly isCluster: boolean;
  private readonly registry: Registry;
  private readonly client: RedisClient;

  constructor(client: RedisClient, script: Script, options: RedisStoreOptions, testClock?: Clock) {
    this.client = client;
    const { maxSteps = 128, coalesce = client.coalesce ?? true, hashKeys, reconnect } = options;
    positiveInteger('maxSteps', maxSteps);
    if (reconnect && !client.reconnect) {
      throw new SpillwayError(
        'SPW_OPTION_INVALID',
        'reconnect must be left out: this client has no connection that the store could end',
      );
    }
    this.nameOf = keyNamer(hashKeys);
    this.isCluster = client.isCluster === true;
    if (testClock) this.testClock = testClock;
    // Others may have taken a unit in a group across slots, and be about to put it back.
    if (this.isCluster) this.refusalsLastUs = REFUSALS_LAST_US;
    if (this.isCluster && client.nodeOf) {
      this.domainOf = (step) => client.nodeOf?.(slotOf(this.name(step))) ?? '';
    }
    this.registry = new Registry(new Scripts(client), options.logger);
    const silence = client.cure ? new Silence(client, reconnect === true) : undefined;
    const caller = new ScriptCalls(client, script, silence, testClock);
    const gate = new ReadyQueue(client, caller);
    this.batches = new Batches((questions) => gate.pass(questions), maxSteps, coalesce);
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
    // What has no deadline, such as a release, may travel with any other.
    const isApart = options?.background === true && deadlineUs !== Infinity;
    const answers = group.steps.some(isReset)
      ? this.askWithResets(group.steps, deadlineUs)
      : this.askSteps(group.steps, deadlineUs, isApart);
    return group.places ? answers.then((all) => spread(group, all)) : answers;
  }

  get label(): string {
    return this.client.label ?? 'Redis';
  }

  private readonly name = (step: Step): string =>
    this.nameOf(step.limiter, step.key, countOf(step));

  /** What is reset is so in all counts of its limiter, in one call; the answers to the others are nobody's. */
  private async askWithResets(
    steps: readonly Step[],
    deadlineUs: number,
  ): Promise<readonly Answer[]> {
    const others = await this.registry.otherResets(steps, deadlineUs);
    const answers = await this.askSteps([...steps, ...others], deadlineUs);
    return answers.slice(0, steps.length);
  }

  private askSteps(
    steps: readonly Step[],
    deadlineUs: number,
    isApart = false,
  ): Promise<readonly Answer[]> {
    const names = steps.map(this.name);
    return this.isCluster
      ? this.askCluster(steps, names, deadlineUs, isApart)
      : this.ask(steps, names, 0, deadlineUs, isApart);
  }

  private ask(
    steps: readonly Step[],
    names: readonly string[],
    slot: number,
    deadlineUs: number,
    isApart: boolean,
  ): Promise<readonly Answer[]> {
    return new Promise((resolve, reject) => {
      this.batches.ask({ steps, names, slot, deadlineUs, isApart, resolve, reject });
    });
  }

  private askCluster(
    steps: readonly Step[],
    names: readonly string[],
    deadlineUs: number,
    isApart: boolean,
  ): Promise<readonly Answer[]> {
    const slots = names.map((name) => slotOf(name));
    const slot = slots[0] as number;
    if (slots.every((other) => other === slot))
      return this.ask(steps, names, slot, deadlineUs, isApart);
    return askSlots(steps, slots, (part, partSlot, always) => {
      const own = part.map(this.name);
      const until = always ? Infinity : deadlineUs;
      return this.ask(part, own, partSlot, until, !always && isApart);
    });
  }
}

function isReset({ op }: Step): boolean {
  return op === 'reset';
}
