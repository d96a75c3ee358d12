/** Supports node-redis 5 and 6, which is `redis` on npm. */

import { systemClock } from '@spillway/core/store';
import type { RedisClient } from './client.js';

/** How long calls wait for a client that is open but not ready. After that, calls fail immediately. */
const PATIENCE_US = 250_000;

/** How node-redis runs scripts. */
export interface NodeRedisCalls {
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** The members that the store uses of both a client and a cluster of node-redis. */
export interface NodeRedisLike {
  readonly isOpen: boolean;
  withTypeMapping(mapping: Record<never, never>): NodeRedisCalls;
  once(event: string, listener: () => void): unknown;
  removeListener(event: string, listener: () => void): unknown;
}

/** The members of a node-redis client that the store uses. */
export interface NodeRedisClient extends NodeRedisLike {
  readonly isReady: boolean;
  readonly options?: { readonly socket?: object };
  connect(): Promise<unknown>;
  destroy(): void;
}

export abstract class AnyNodeRedis<Client extends NodeRedisLike> implements RedisClient {
  abstract readonly label: string;
  protected abstract readonly events: readonly string[];
  protected readonly client: Client;
  private readonly calls: NodeRedisCalls;
  private waitsSinceUs: number | undefined;

  constructor(client: Client) {
    this.client = client;
    // The user's client may have a type mapping, and this view has none.
    this.calls = client.withTypeMapping({});
  }

  protected abstract isReady(): boolean;

  get state(): string {
    if (this.isReady()) {
      this.waitsSinceUs = undefined;
      return 'ready';
    }
    // A client that was never opened looks like one that was closed, and only the user may open it.
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

export class NodeRedis extends AnyNodeRedis<NodeRedisClient> {
  /** The client's `socketTimeout` does not help, because writes reset it. */
  readonly cure = 'set reconnect: true on redisStore';
  protected readonly events = ['ready', 'reconnecting', 'end'] as const;

  get label(): string {
    return labelOf(this.client);
  }

  protected isReady(): boolean {
    return this.client.isReady;
  }

  reconnect(): void {
    this.client.destroy();
    // The client also emits the failure as an event.
    this.client.connect().catch(() => {});
  }
}

function labelOf({ options }: NodeRedisClient): string {
  const { host, port, path } = (options?.socket ?? {}) as Readonly<Record<string, unknown>>;
  return `Redis at ${path ?? `${host ?? 'localhost'}:${port ?? 6379}`}`;
}
