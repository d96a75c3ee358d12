/** Supports ioredis 5 and 6 and its fork iovalkey, each with one server, Sentinel or Cluster. */

import { outside } from '@spillway/core/direct';
import { systemClock } from '@spillway/core/store';
import type { RedisClient } from './client.js';
import { type Inside, labelOf, streamOf, streamsOf } from './ioredis-inside.js';

/**
 * The store makes the client reconnect early, because the client's own delay can grow to seconds. This is the minimum
 * time between two such reconnects.
 */
const NUDGE_US = 250_000;

const CONNECTING: ReadonlySet<string> = new Set(['wait', 'connecting', 'connect']);

const EVENTS = ['ready', 'close', 'end'] as const;

/** The members of a client of ioredis or iovalkey that the store uses. */
export interface IoredisClient {
  /** `wait`, `connecting`, `connect`, `ready`, `close`, `reconnecting`, `disconnecting` or `end`. */
  readonly status: string;
  readonly isCluster?: boolean;
  connect(): Promise<unknown>;
  call(command: string, args: (string | number)[]): Promise<unknown>;
  once(event: 'ready' | 'close' | 'end', listener: () => void): unknown;
  removeListener(event: 'ready' | 'close' | 'end', listener: () => void): unknown;
}

declare function clearTimeout(timer: unknown): void;

interface Reconnecting {
  reconnectTimeout?: unknown;
  retryAttempts?: unknown;
}

export class Ioredis implements RedisClient {
  private readonly client: IoredisClient;
  private nudgedUs = -Infinity;

  constructor(client: IoredisClient) {
    this.client = client;
  }

  get state(): string {
    const { status } = this.client;
    return CONNECTING.has(status) ? 'connecting' : status;
  }

  get isCluster(): boolean {
    return this.client.isCluster === true;
  }

  // The arguments are one list, because a call with very many separate arguments throws.
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown> {
    return this.client.call('evalsha', [sha, keys.length, ...keys, ...args]);
  }

  eval(script: string, keys: string[], args: string[]): Promise<unknown> {
    return this.client.call('eval', [script, keys.length, ...keys, ...args]);
  }

  /**
   * Lets the sockets write all calls of `send` at once. Writing a call separately takes longer than the client's other
   * work for the call.
   */
  together(send: () => void): void {
    const streams = streamsOf(this.client);
    for (const stream of streams) stream.cork?.();
    try {
      send();
    } finally {
      for (const stream of streams) stream.uncork?.();
    }
  }

  get label(): string {
    return labelOf(this.client);
  }

  get cure(): string {
    const option = 'socketTimeout: 1000';
    return `set ${this.isCluster ? `redisOptions: { ${option} }` : option} on the client`;
  }

  nodeOf(slot: number): string | undefined {
    return (this.client as IoredisClient & Inside).slots?.[slot]?.[0];
  }

  reconnect(node: string): void {
    streamOf(this.client, node)?.destroy();
  }

  onceChanged(listener: () => void): () => void {
    const { client } = this;
    for (const event of EVENTS) client.once(event, listener);
    return () => {
      for (const event of EVENTS) client.removeListener(event, listener);
    };
  }

  hurry(): void {
    const { status } = this.client;
    if (status === 'wait') this.connect();
    else if (status === 'reconnecting') this.nudge();
  }

  /**
   * Makes a client connect now instead of when its timer fires. The timer is cleared, because each running timer would
   * cause another attempt. The attempt is not counted, so a `retryStrategy` with a maximum does not give up early.
   */
  private nudge(): void {
    const nowUs = systemClock.nowUs();
    const client = this.client as IoredisClient & Reconnecting;
    if (nowUs - this.nudgedUs < NUDGE_US || !client.reconnectTimeout) return;
    this.nudgedUs = nowUs;
    clearTimeout(client.reconnectTimeout);
    client.reconnectTimeout = null;
    if (typeof client.retryAttempts === 'number') client.retryAttempts -= 1;
    this.connect();
  }

  /** Connects outside of the request's async context, because the connection would keep it in memory. */
  private connect(): void {
    // The client also emits the failure as an event.
    outside(() => this.client.connect().catch(() => {}));
  }
}
