import { SpillwayError } from '@spillway/core';
import type { RedisClient } from './client.js';
import { Ioredis, type IoredisClient } from './ioredis.js';
import { NodeRedis, type NodeRedisClient } from './node-redis.js';
import { ClusterOfNodeRedis, type NodeRedisCluster } from './node-redis-cluster.js';

/**
 * The clients that `redisStore`, `redisControl` and `redisReports` accept: a client of ioredis or iovalkey (one server,
 * Sentinel, Cluster), a client or cluster of node-redis, the result of {@link fromUpstash}, or your own
 * {@link RedisClient}. You still own the client: set its options, open it, handle its errors and close it.
 */
export type AnyRedisClient = IoredisClient | NodeRedisClient | NodeRedisCluster | RedisClient;

/** Stores and controls on one client share its wrapper, because the wrapper limits how often `hurry` reconnects. */
const made = new WeakMap<object, RedisClient>();

export function asRedisClient(client: AnyRedisClient): RedisClient {
  const given: unknown = client;
  if (typeof given !== 'object' || given === null) {
    throw noClient(given === null ? 'null' : typeof given);
  }
  const known = made.get(given) ?? make(given);
  made.set(given, known);
  return known;
}

function make(given: object): RedisClient {
  const has = hasOf(given);
  if (has('state', 'string') && has('evalsha', 'function')) return given as RedisClient;
  if (has('status', 'string') && has('evalsha', 'function')) {
    return new Ioredis(given as IoredisClient);
  }
  if (has('withTypeMapping', 'function')) {
    if (has('masters', 'object')) return new ClusterOfNodeRedis(given as NodeRedisCluster);
    if (has('isReady', 'boolean')) return new NodeRedis(given as NodeRedisClient);
  }
  if (has('then', 'function')) throw noClient('a promise: await it first');
  if (has('pipeline', 'function')) {
    throw noClient('perhaps one of Upstash: write fromUpstash(client)');
  }
  throw noClient('another object');
}

function hasOf(object: object): (name: string, type: string) => boolean {
  const members = object as Readonly<Record<string, unknown>>;
  // `in` is checked first, because an Upstash client is a proxy that creates a command for every name that is read.
  return (name, type) => name in object && typeof members[name] === type;
}

/**
 * @param got describes the invalid client without its value, because a URL contains a password, and printing an Upstash
 *   client sends a command
 */
function noClient(got: string): SpillwayError {
  return new SpillwayError(
    'SPW_OPTION_INVALID',
    'client must be one of ioredis or iovalkey, such as new Redis(url), one of node-redis 5 or later, made by ' +
      `createClient or createCluster, or the result of fromUpstash(), got ${got}`,
  );
}
