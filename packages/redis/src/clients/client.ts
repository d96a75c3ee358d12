/**
 * The interface between the store and a client. Implement it for a client that `redisStore` doesn't accept. The store
 * never closes the client.
 */
export interface RedisClient {
  /**
   * `ready`: calls are sent. `connecting`: calls wait until their deadline. With any other value, calls fail
   * immediately with an error that contains the value.
   */
  readonly state: string;
  /** Whether all keys of a call must be in one hash slot. Default false. */
  readonly isCluster?: boolean;
  /** The default of the store's option `coalesce`. Set this to false if requests must not share a promise. */
  readonly coalesce?: boolean;
  /**
   * Runs the cached script with this SHA-1. Rejects with Redis's own message, such as `NOSCRIPT …` for an unknown
   * script. Integers in the reply may be numbers, strings or bigints.
   */
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  /** Runs a script that the server may not know. */
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
  /** Runs `send`, which makes several calls synchronously. The client may write these calls to the socket together. */
  together?(send: () => void): void;
  /** Calls `listener` once when `state` may have changed. Returns a function that removes the listener. */
  onceChanged(listener: () => void): () => void;
  /** The store calls this for each of its calls while the client is not ready. Connect now if possible. */
  hurry?(): void;
  /** The server's name in logs, such as `Redis at 10.0.0.7:6379`. It must not contain a user or password. */
  readonly label?: string;
  /**
   * The address of the Cluster node that owns a hash slot; undefined if unknown. With this method, the failure of one
   * node doesn't affect calls to other nodes.
   */
  nodeOf?(slot: number): string | undefined;
  /**
   * Tells the user how to make the client detect a connection that is open but dead, such as `set socketTimeout: 1000
   * on the client`.
   */
  readonly cure?: string;
  /**
   * Closes the connection to a node immediately, so that the client opens a new one. A single server is called `''`.
   */
  reconnect?(node: string): void;
}
