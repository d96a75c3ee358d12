/** The store's interface to a Redis client. */

/**
 * The interface between the store and a client. `redisStore` wraps clients of ioredis, iovalkey and node-redis itself.
 * For Upstash, use {@link fromUpstash}. For other clients, implement this interface. The store never closes the client.
 */
export interface RedisClient {
  /**
   * `ready`: calls are sent. `connecting`: calls wait until their deadline. Any other value: calls fail immediately,
   * and their error contains the value.
   */
  readonly state: string;
  /** Whether all keys of a call must be in one hash slot. Default false. */
  readonly isCluster?: boolean;
  /**
   * The value of the store's option `coalesce` if that is not set. Default true. Use false if requests must not share a
   * promise.
   */
  readonly coalesce?: boolean;
  /**
   * Runs the script with this SHA-1 once, or rejects with Redis's own message, such as `NOSCRIPT …` for an unknown
   * script. Integers in the reply may be numbers, strings or bigints.
   */
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  /** Like `evalsha` with the script's text, for a server that may not know the script. */
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
  /**
   * Runs `send`, which makes several calls synchronously. A client that otherwise writes each call separately can write
   * them together. If it does not run `send` synchronously, the calls are made one by one.
   */
  together?(send: () => void): void;
  /** Calls `listener` once when `state` may have changed. Returns a function that removes the listener. */
  onceChanged(listener: () => void): () => void;
  /** Called for each call of the store while the client is not ready. It should connect now if it can. */
  hurry?(): void;
  /** The server's name in logs, such as `Redis at 10.0.0.7:6379`. It must not contain a user or password. */
  readonly label?: string;
  /**
   * The address of the node of a Cluster that owns a hash slot; undefined if unknown. With this method, the failure of
   * one node doesn't affect calls to other nodes.
   */
  nodeOf?(slot: number): string | undefined;
  /**
   * Advice for the user on how the client can detect a connection that is open but dead, such as `set socketTimeout:
   * 1000 on the client`.
   */
  readonly cure?: string;
  /** Closes the connection to a node (`''` is the only node) immediately, so that the client opens a new one. */
  reconnect?(node: string): void;
}
