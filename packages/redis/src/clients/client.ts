/** What the store needs of Redis, whichever client brings it there. */

/**
 * The seam between the store and a client. `redisStore` takes ioredis as it is; {@link fromNodeRedis},
 * {@link fromNodeRedisCluster} and {@link fromUpstash} make one of theirs. The client behind it stays yours: the store
 * never closes it.
 */
export interface RedisClient {
  /**
   * `ready`: calls are sent. `connecting`: they wait, until their deadline. Any other word: they fail at once, and it
   * says why.
   */
  readonly state: string;
  /** Whether the keys of one call must lie in one hash slot. Default false. */
  readonly isCluster?: boolean;
  /**
   * What the store's option `coalesce` is unless given. Default true; false where requests must not share a promise.
   */
  readonly coalesce?: boolean;
  /**
   * Runs the script of that name once, or rejects with Redis's own words: `NOSCRIPT …` if it does not know it. Integers
   * may come as numbers, strings or bigints.
   */
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  /** The same, for a server that may not know the script. */
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
  /** Calls back once when `state` may have changed; returns what calls that off. */
  onceChanged(listener: () => void): () => void;
  /** Told of each call that finds it not ready: the time to connect, if it can. */
  hurry?(): void;
  /** What the server is called in logs, such as `Redis at 10.0.0.7:6379`: no user, no password. */
  readonly label?: string;
  /** On Cluster: the address of the node that has a hash slot; undefined while nobody knows. Nodes fail apart. */
  nodeOf?(slot: number): string | undefined;
  /**
   * What its user can do so that a connection that is open but dead is noticed, as in
   * `set socketTimeout: 1000 on the client`.
   */
  readonly cure?: string;
  /** Ends the connection to a node (`''`: the one there is) at once, so that the client makes another. */
  reconnect?(node: string): void;
}
