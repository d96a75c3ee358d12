/** The store on Redis. */

import {
  type Answer,
  type ApplyOptions,
  type Clock,
  MAX_STEPS,
  SpillwayError,
  type Step,
  type Store,
  spread,
  tooLarge,
  uniqueGroup,
} from '@spillway/core';
import slotOf from 'cluster-key-slot';
import { Batches } from './batches.js';
import { Caller } from './caller.js';
import { asRedisClient, type RedisClient } from './client.js';
import { askSlots } from './cross-slot.js';
import { Gate } from './gate.js';
import type { IoredisClient } from './ioredis.js';
import { type KeyNamer, keyNamer } from './keys.js';
import { productionScript, type Script } from './script.js';
import { Silence } from './silence.js';

/** All optional. */
export interface RedisStoreOptions {
  /** A secret: no key is then stored as it is, but as its HMAC-SHA-256. Without it, only keys longer than 256 are hashed. */
  readonly hashKeys?: string | Uint8Array;
  /** The most steps in one script call, so that Redis is never kept long. Default 128. A larger group goes alone, whole. */
  readonly maxSteps?: number;
  /** Whether decisions asked in one turn of the event loop travel in one script call. Default true; over HTTP, false. */
  readonly coalesce?: boolean;
  /**
   * Whether the store may end a connection of your client that is open but has answered nothing for 2 s, once a minute at most, so
   * that the client makes another: for node-redis, and for ioredis without `socketTimeout`. Default false: one line tells you.
   */
  readonly reconnect?: boolean;
}

/** What {@link redisStore} returns. */
export interface RedisStore extends Store {
  readonly sync: false;
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

  /** The node that has the key, on Cluster where the client tells. */
  readonly domainOf?: (step: Step) => string;
  private readonly nameOf: KeyNamer;
  private readonly batches: Batches;
  private readonly isCluster: boolean;

  constructor(
    private readonly client: RedisClient,
    script: Script,
    options: RedisStoreOptions,
    testClock?: Clock,
  ) {
    const { maxSteps = 128, coalesce = client.coalesce ?? true, hashKeys, reconnect } = options;
    if (!Number.isSafeInteger(maxSteps) || maxSteps < 1) {
      throw new SpillwayError(
        'SPW_OPTION_INVALID',
        `maxSteps must be a positive integer, got ${String(maxSteps)}`,
      );
    }
    if (reconnect && !client.reconnect) {
      throw new SpillwayError(
        'SPW_OPTION_INVALID',
        'reconnect must be left out: this client has no connection that the store could end',
      );
    }
    this.nameOf = keyNamer(hashKeys);
    this.isCluster = client.isCluster === true;
    if (this.isCluster && client.nodeOf) {
      this.domainOf = (step) => client.nodeOf?.(slotOf(this.name(step))) ?? '';
    }
    const silence = client.cure ? new Silence(client, reconnect === true) : undefined;
    const caller = new Caller(client, script, silence, testClock);
    const gate = new Gate(client, caller);
    this.batches = new Batches((questions) => gate.pass(questions), maxSteps, coalesce);
  }

  apply(steps: readonly Step[], options?: ApplyOptions): Promise<readonly Answer[]> {
    if (steps.length === 0) return Promise.resolve([]);
    if (steps.length > MAX_STEPS) return Promise.reject(tooLarge());
    const group = uniqueGroup(steps);
    const names = group.steps.map(this.name);
    const deadlineUs = options?.deadlineUs ?? Infinity;
    const answers = this.isCluster
      ? this.askCluster(group.steps, names, deadlineUs)
      : this.ask(group.steps, names, 0, deadlineUs);
    return group.places ? answers.then((all) => spread(group, all)) : answers;
  }

  get label(): string {
    return this.client.label ?? 'Redis';
  }

  private readonly name = ({ limiter, key }: Step): string => this.nameOf(limiter, key);

  private ask(
    steps: readonly Step[],
    names: readonly string[],
    slot: number,
    deadlineUs: number,
  ): Promise<readonly Answer[]> {
    return new Promise((resolve, reject) => {
      this.batches.ask({ steps, names, slot, deadlineUs, resolve, reject });
    });
  }

  private askCluster(
    steps: readonly Step[],
    names: readonly string[],
    deadlineUs: number,
  ): Promise<readonly Answer[]> {
    const slots = names.map((name) => slotOf(name));
    const slot = slots[0] as number;
    if (slots.every((other) => other === slot)) return this.ask(steps, names, slot, deadlineUs);
    return askSlots(steps, slots, (part, partSlot, always) =>
      this.ask(part, part.map(this.name), partSlot, always ? Infinity : deadlineUs),
    );
  }
}
