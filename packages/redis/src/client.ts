/** What the store needs of a Redis client: what ioredis 5 and 6 have, standalone, with Sentinel and on Cluster. */

/**
 * The part of an ioredis client that the store uses: `new Redis()` and `new Cluster()` fit as they are. The client stays
 * yours: the store never closes it, and leaves no listener behind.
 */
export interface RedisClient {
  /** `wait`, `connecting`, `connect`, `ready`, `close`, `reconnecting`, `disconnecting` or `end`. */
  readonly status: string;
  readonly isCluster?: boolean;
  connect(): Promise<unknown>;
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  once(event: 'ready' | 'close' | 'end', listener: () => void): unknown;
  removeListener(event: 'ready' | 'close' | 'end', listener: () => void): unknown;
}
