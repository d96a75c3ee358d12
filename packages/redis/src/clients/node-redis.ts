/** The store's way over node-redis 5 and 6 (`redis` on npm): one server. */

import { systemClock } from '@spillway/core/store';
import type { RedisClient } from './client.js';

/**
 * How long calls wait for a client that is open but not ready, counted from the first: after that they fail at once.
 */
const PATIENCE_US = 250_000;

const EVENTS = ['ready', 'reconnecting', 'end'] as const;

/** How node-redis runs scripts. */
export interface NodeRedisCalls {
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** The part of a node-redis client, or cluster, that the store uses. */
export interface NodeRedisLike {
  readonly isOpen: boolean;
  withTypeMapping(mapping: Record<never, never>): NodeRedisCalls;
  once(event: string, listener: () => void): unknown;
  removeListener(event: string, listener: () => void): unknown;
}

/** The part of a node-redis client that the store uses: what `createClient()` makes. */
export interface NodeRedisClient extends NodeRedisLike {
  readonly isReady: boolean;
  readonly options?: { readonly socket?: object };
  connect(): Promise<unknown>;
  destroy(): void;
}

/**
 * A node-redis client for `redisStore`. Connect it yourself, as node-redis asks. Calls wait for it while it connects,
 * and fail at once when it has not been ready for a quarter of a second.
 *
 * @example
 * ```ts
 * import { fromNodeRedis, redisStore } from '@spillway/redis';
 * import { createClient } from 'redis';
 *
 * const client = createClient({ disableOfflineQueue: true, socket: { reconnectStrategy: 250 } });
 * client.on('error', console.error);
 * await client.connect();
 * const store = redisStore(fromNodeRedis(client));
 * ```
 */
export function fromNodeRedis(client: NodeRedisClient): RedisClient {
  return new OneNodeRedis(client);
}

function labelOf({ options }: NodeRedisClient): string {
  const { host, port, path } = (options?.socket ?? {}) as Readonly<Record<string, unknown>>;
  return `Redis at ${path ?? `${host ?? 'localhost'}:${port ?? 6379}`}`;
}

/** What is the same for one server and for a cluster. */
export class NodeRedis implements RedisClient {
  private readonly client: NodeRedisLike;
  private readonly calls: NodeRedisCalls;
  private readonly isReady: () => boolean;
  private readonly events: readonly string[];
  private readonly name: () => string;
  private waitsSinceUs: number | undefined;

  constructor(
    client: NodeRedisLike,
    isReady: () => boolean,
    events: readonly string[],
    name: () => string,
  ) {
    this.client = client;
    this.name = name;
    // Whatever types the user has asked for on this client, here they are those of Redis.
    this.calls = client.withTypeMapping({});
    this.isReady = isReady;
    this.events = events;
  }

  get label(): string {
    return this.name();
  }

  get state(): string {
    if (this.isReady()) {
      this.waitsSinceUs = undefined;
      return 'ready';
    }
    // Only its user may open it: one that was closed looks the same.
    if (!this.client.isOpen) return 'closed';
    const nowUs = systemClock.nowUs();
    this.waitsSinceUs ??= nowUs;
    return nowUs - this.waitsSinceUs < PATIENCE_US ? 'connecting' : 'reconnecting';
  }

  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown> {
    return this.calls.evalSha(sha, { keys, arguments: args });
  }

  eval(script: string, keys: string[], args: string[]): Promise<unknown> {
    return this.calls.eval(script, { keys, arguments: args });
  }

  onceChanged(listener: () => void): () => void {
    const { client, events } = this;
    for (const event of events) client.once(event, listener);
    return () => {
      for (const event of events) client.removeListener(event, listener);
    };
  }
}

/** One server. */
class OneNodeRedis extends NodeRedis {
  /** Its own socketTimeout does not: what is written counts as a sign of life. */
  readonly cure = 'set reconnect: true on redisStore';
  private readonly owner: NodeRedisClient;

  constructor(client: NodeRedisClient) {
    super(
      client,
      () => client.isReady,
      EVENTS,
      () => labelOf(client),
    );
    this.owner = client;
  }

  reconnect(): void {
    this.owner.destroy();
    // The client tells of a failure by its own events too.
    this.owner.connect().catch(() => {});
  }
}
