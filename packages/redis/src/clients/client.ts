/** What the store needs of a Redis client. */

/**
 * The interface between the store and a client. `redisStore` makes one of a client of ioredis, iovalkey or node-redis
 * by itself, {@link fromUpstash} of one of Upstash. For any other client, write one. The client stays yours: the store
 * never closes it.
 */
export interface RedisClient {
  /**
   * `ready`: calls are sent. `connecting`: calls wait until their deadline. Any other word: calls fail at once, and
   * their error contains the word.
   */
  readonly state: string;
  /** Whether the keys of one call must lie in one hash slot. Default false. */
  readonly isCluster?: boolean;
  /** The default of the store's option `coalesce`. Default true. Use false where requests must not share a promise. */
  readonly coalesce?: boolean;
  /**
   * Runs the script with this name once, or rejects with Redis's own message: `NOSCRIPT …` if it does not know the
   * script. Integers may come as numbers, strings or bigints.
   */
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  /** The same with the script's text, for a server that may not know the script. */
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
  /**
   * Runs `send`, which makes several calls before it returns. A client that would write each of them by itself can
   * write them together. If it does not run `send` before it returns, the calls are made one by one.
   */
  together?(send: () => void): void;
  /** Calls `listener` once when `state` may have changed. Returns a function that cancels this. */
  onceChanged(listener: () => void): () => void;
  /** Called for each call while the client is not ready: connect now, if you can. */
  hurry?(): void;
  /** The server's name in logs, such as `Redis at 10.0.0.7:6379`. It must contain no user and no password. */
  readonly label?: string;
  /**
   * On Cluster: the address of the node that has a hash slot; undefined while it is not known. One node may fail while
   * others work.
   */
  nodeOf?(slot: number): string | undefined;
  /**
   * What the user can do so that the client notices a connection that is open but dead, such as
   * `set socketTimeout: 1000 on the client`.
   */
  readonly cure?: string;
  /** Ends the connection to a node (`''`: the only one) at once, so that the client makes another. */
  reconnect?(node: string): void;
}
