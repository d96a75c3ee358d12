/** Connects to Redis. */

import { type RedisControl, type RedisStore, redisControl, redisStore } from '@spillway/redis';
import { Cluster, Redis } from 'ioredis';
import { deadline } from './deadline.js';
import { databaseOf, hostOf, portOf, redisUrl } from './redis-url.js';

/** The options that every command has. */
export interface CommonOptions {
  readonly redis?: string | undefined;
  readonly cluster?: true | undefined;
  readonly prefix?: string | undefined;
  readonly json?: true | undefined;
}

interface ConnectionOptions extends CommonOptions {
  /** Goes on when Redis goes away. Only the first connection must be there in time. */
  readonly patient?: boolean;
  /** The command changes something: after a timeout nobody knows whether it did. */
  readonly isChange?: boolean;
}

/** The time that a command has, with the connection. */
const DEADLINE_MS = 5_000;

/** What names begin with if nobody says otherwise: the default of `redisStore`. */
const DEFAULT_PREFIX = 'spw:';

interface Connection {
  readonly client: Redis | Cluster;
  readonly control: RedisControl;
  readonly store: RedisStore;
  readonly prefix: string;
}

/**
 * Connects, calls `use`, and ends the connection.
 *
 * @throws UsageError if nothing says where Redis is
 * @throws Error if Redis cannot be reached, or does not answer within 5 s
 */
export async function connected<Value>(
  options: ConnectionOptions,
  use: (connection: Connection) => Promise<Value>,
): Promise<Value> {
  const url = redisUrl(options.redis ?? process.env['REDIS_URL']);
  const hashKeys = process.env['SPILLWAY_HASH_KEYS'] || undefined;
  const { prefix = DEFAULT_PREFIX } = options;
  const { client, firstError } = clientFor(url, options);
  const time = deadline(DEADLINE_MS, tooLate(url, options));
  try {
    // Made before the connection: a wrong option is told whether Redis is there or not.
    const control = redisControl(client, { hashKeys, prefix });
    const store = redisStore(client, {
      hashKeys,
      prefix,
      // A reset must find all counts of its key. If they cannot be read, the command fails and resets nothing.
      logger: {
        warn: (line) => {
          throw new Error(line);
        },
      },
    });
    const connecting = client.connect().catch((error: Error) => {
      throw unreachable(url, firstError() ?? error);
    });
    await time.keep(connecting);
    const work = use({ client, control, store, prefix });
    return await (options.patient ? work : time.keep(work));
  } finally {
    time.end();
    client.disconnect();
  }
}

function clientFor(url: URL, { cluster, patient }: ConnectionOptions) {
  const retryStrategy = patient ? () => 250 : () => null;
  const options = {
    lazyConnect: true,
    connectTimeout: 5_000,
    maxRetriesPerRequest: 0,
    // A server that hangs does not answer QUIT: the process must not wait for that.
    disconnectTimeout: 100,
    ...(url.protocol === 'rediss:' && { tls: {} }),
    ...(url.username !== '' && { username: decodeURIComponent(url.username) }),
    ...(url.password !== '' && { password: decodeURIComponent(url.password) }),
  };
  const at = { host: hostOf(url), port: portOf(url) };
  const client = cluster
    ? new Cluster([at], {
        lazyConnect: true,
        clusterRetryStrategy: retryStrategy,
        redisOptions: options,
      })
    : new Redis({ ...options, ...at, db: databaseOf(url), retryStrategy });
  let first: Error | undefined;
  // The command reports the error itself. Without a listener the client would print it.
  client.on('error', (error: Error) => {
    first ??= error;
  });
  return { client, firstError: () => first };
}

/** The address and the reason, without user and password. */
function unreachable(url: URL, error: Error & { code?: string }): Error {
  const why = /^[A-Z]+\b/.exec(error.message)?.[0] ?? error.code ?? error.name;
  return new Error(`no connection to Redis at ${url.hostname}:${portOf(url)}: ${why}`);
}

function tooLate(url: URL, { isChange }: ConnectionOptions): Error {
  const silent = `Redis at ${url.hostname}:${portOf(url)} did not answer within ${DEADLINE_MS / 1000} s`;
  if (!isChange) return new Error(silent);
  return new Error(
    `${silent}: the change may not have been made, or be made when Redis goes on. Look with status`,
  );
}
