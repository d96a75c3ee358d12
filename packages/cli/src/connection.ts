import { connect } from 'node:net';
import { isSpillwayError } from '@spillway/core';
import { type RedisControl, type RedisStore, redisControl, redisStore } from '@spillway/redis';
import type { Cluster, Redis } from 'ioredis';
import { deadline } from './deadline.js';
import { databaseOf, type RedisPlace, redisPlace } from './redis-url.js';
import { UsageError } from './usage-error.js';

export interface CommonOptions {
  readonly redis?: string | undefined;
  readonly cluster?: true | undefined;
  readonly sentinelMaster?: string | undefined;
  readonly prefix?: string | undefined;
  readonly json?: true | undefined;
}

interface ConnectionOptions extends CommonOptions {
  /** If true, the client reconnects after a failure, and the deadline covers only the first connection. */
  readonly reconnects?: boolean;
  /** If true, the error for a timeout says that the change may have been made. */
  readonly isChange?: boolean;
}

const DEADLINE_MS = 5_000;

/** How long to wait for a connection to a sentinel, if there are several. */
const PROBE_MS = 500;

/** How long to wait for a connection to a sentinel and its answer, before the next one is asked. */
const SENTINEL_ANSWER_MS = 1_000;

const DEFAULT_PREFIX = 'spw:';

export interface Connection {
  readonly client: Redis | Cluster;
  readonly control: RedisControl;
  readonly store: RedisStore;
  readonly prefix: string;
  /** The first warning of the store: it could not read the list of counts, so a reset may have missed some. */
  warning?: string;
}

/**
 * @throws UsageError if the address of Redis is missing, or doesn't fit the options
 * @throws Error if Redis cannot be reached, or does not answer within 5 s
 */
export async function connected<Value>(
  options: ConnectionOptions,
  use: (connection: Connection) => Promise<Value>,
): Promise<Value> {
  const sentinelMaster = sentinelMasterIn(options);
  const url = options.redis ?? process.env['REDIS_URL'];
  const place =
    sentinelMaster === undefined ? redisPlace(url, 6379) : await reachable(redisPlace(url, 26379));
  const hashKeys = process.env['SPILLWAY_HASH_KEYS'] || undefined;
  const { prefix = DEFAULT_PREFIX } = options;
  const { client, firstError } = await clientFor(place, { ...options, sentinelMaster });
  const time = deadline(DEADLINE_MS, tooLate(place, { ...options, sentinelMaster }));
  try {
    // Created before connecting, so that a wrong option is reported even if Redis is down.
    const control = redisControl(client, { hashKeys, prefix });
    const store = redisStore(client, {
      hashKeys,
      prefix,
      logger: {
        warn: (line) => {
          connection.warning ??= line;
        },
      },
    });
    const connection: Connection = { client, control, store, prefix };
    const connecting = client.connect().catch((error: Error) => error);
    const failure = await time.race(connecting);
    const error = firstError() ?? failure;
    // If the server has no such database, the client reports the error, but then uses database 0.
    if (error && (failure || error.name === 'ReplyError')) {
      throw unreachable(place, sentinelMaster, error);
    }
    const work = use(connection);
    return await (options.reconnects ? work : time.race(work));
  } catch (error) {
    if (!options.cluster && isMoved(error)) {
      throw new UsageError('this Redis is a node of a Cluster: add --cluster', { cause: error });
    }
    throw error;
  } finally {
    time.clearTimer();
    client.disconnect();
  }
}

function isMoved(error: unknown): boolean {
  return isSpillwayError(error) && error.kind === 'moved';
}

/**
 * Returns the name of the master. With `--redis`, SPILLWAY_SENTINEL_MASTER is ignored, because it belongs to the
 * address in REDIS_URL.
 */
function sentinelMasterIn({ redis, sentinelMaster }: CommonOptions): string | undefined {
  if (sentinelMaster !== undefined || redis !== undefined) return sentinelMaster;
  return process.env['SPILLWAY_SENTINEL_MASTER'] || undefined;
}

async function clientFor(
  place: RedisPlace,
  { cluster, sentinelMaster, reconnects }: ConnectionOptions,
) {
  const { url, at, username, password } = place;
  if (cluster && sentinelMaster !== undefined) {
    throw new UsageError(
      'a Redis is either a Cluster or behind sentinels: give --cluster or --sentinel-master, not both',
    );
  }
  if (at.length > 1 && sentinelMaster === undefined) {
    throw new UsageError(
      'only sentinels can have several addresses: add --sentinel-master <name>, or give one address',
    );
  }
  const retryStrategy = reconnects ? () => 250 : () => null;
  const isSafe = url.protocol === 'rediss:';
  const options = {
    lazyConnect: true,
    connectTimeout: 5_000,
    maxRetriesPerRequest: 0,
    // A hanging server never closes the connection, so the client waits only briefly for that.
    disconnectTimeout: 100,
    ...(isSafe && { tls: {} }),
    ...(username !== '' && { username }),
    ...(password !== '' && { password }),
  };
  // Imported here, because it takes half of the startup time of commands without Redis, such as `replay`.
  const { Cluster, Redis } = await import('ioredis');
  const [node] = at as [RedisPlace['at'][number]];
  const single = { ...options, db: databaseOf(url), retryStrategy };
  const clients = {
    // Without the check for readiness, `doctor` also works while this server is loading, and for a user who may not run
    // INFO or CLUSTER INFO.
    node: () => new Redis({ ...single, ...node, enableReadyCheck: false }),
    cluster: () =>
      new Cluster([node], {
        lazyConnect: true,
        enableReadyCheck: false,
        clusterRetryStrategy: retryStrategy,
        // The certificate may name only the host, so its address must not replace it.
        dnsLookup: (host, callback) => callback(null, host),
        redisOptions: { ...options, enableReadyCheck: false },
      }),
    sentinels: () =>
      new Redis({
        ...single,
        ...sentinelOptions(place, sentinelMaster, isSafe),
        sentinelRetryStrategy: retryStrategy,
      }),
  };
  const client =
    clients[sentinelMaster !== undefined ? 'sentinels' : cluster ? 'cluster' : 'node']();
  let first: Error | undefined;
  // The command reports the error itself. Without a listener the client would print it.
  client.on('error', (error: Error) => {
    first ??= error;
  });
  return { client, firstError: () => first };
}

/** The user and password in the address are for Redis. Those of the sentinels come from the environment. */
function sentinelOptions({ at }: RedisPlace, name: string | undefined, isSafe: boolean): object {
  const { SPILLWAY_SENTINEL_USERNAME: username, SPILLWAY_SENTINEL_PASSWORD: password } =
    process.env;
  return {
    sentinels: at,
    name,
    sentinelCommandTimeout: SENTINEL_ANSWER_MS,
    ...(username && { sentinelUsername: username }),
    ...(password && { sentinelPassword: password }),
    ...(isSafe && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
  };
}

/** Drops sentinels that cannot be reached, if another one can, because the client would wait seconds for each. */
async function reachable(place: RedisPlace): Promise<RedisPlace> {
  if (place.at.length === 1) return place;
  const found = await Promise.all(
    place.at.map(async (one) => ({ one, isDead: await isUnreachable(one) })),
  );
  const at = found.flatMap(({ one, isDead }) => (isDead ? [] : [one]));
  return at.length > 0 ? { ...place, at } : place;
}

function isUnreachable({ host, port }: RedisPlace['at'][number]): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: PROBE_MS });
    const done = (isDead: boolean) => (): void => {
      socket.destroy();
      resolve(isDead);
    };
    socket.on('connect', done(false)).on('timeout', done(true)).on('error', done(true));
  });
}

/** Returns an error whose message does not contain the user or the password. */
function unreachable(
  place: RedisPlace,
  sentinelMaster: string | undefined,
  error: Error & { code?: string; lastNodeError?: Error },
): Error {
  if (error.lastNodeError) return unreachable(place, sentinelMaster, error.lastNodeError);
  // Up to the first quote or comma, because the text after it may repeat the arguments of AUTH.
  const why = /^(ERR [A-Za-z ]*\w|[A-Z]+\b|timeout$)/.exec(error.message)?.[0] ?? error.code;
  const isDirect = sentinelMaster === undefined;
  const reason = why ?? (isDirect ? error.name : 'no sentinel answers, or none knows that name');
  return new Error(`no connection to ${redisAt(place, sentinelMaster)}: ${reason}`);
}

function redisAt(place: RedisPlace, sentinelMaster: string | undefined): string {
  if (sentinelMaster === undefined) return `Redis at ${addressOf(place)}`;
  return `the Redis that the sentinels at ${addressOf(place)} call ${sentinelMaster}`;
}

function tooLate(place: RedisPlace, options: ConnectionOptions): Error {
  const { isChange, sentinelMaster } = options;
  const silent = `${redisAt(place, sentinelMaster)} did not answer within ${DEADLINE_MS / 1000} s`;
  if (!isChange) return new Error(silent);
  return new Error(
    `${silent}: the change may have been made, or may still be made later. Check with: spillway status`,
  );
}

/** Names TLS, because a server without TLS does not answer a client with TLS. */
function addressOf({ at, url }: RedisPlace): string {
  const hostIn = (host: string): string => (host.includes(':') ? `[${host}]` : host);
  const addresses = at.map(({ host, port }) => `${hostIn(host)}:${port}`).join(', ');
  return url.protocol === 'rediss:' ? `${addresses} with TLS` : addresses;
}
