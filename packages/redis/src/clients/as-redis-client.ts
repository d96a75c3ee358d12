/** Turns any client that a user has into the client that the store knows. */

import { SpillwayError } from '@spillway/core';
import type { RedisClient } from './client.js';
import { Ioredis, type IoredisClient } from './ioredis.js';
import { NodeRedis, type NodeRedisClient } from './node-redis.js';
import { ClusterOfNodeRedis, type NodeRedisCluster } from './node-redis-cluster.js';

/**
 * What `redisStore` and `redisControl` take: a client of ioredis or iovalkey (one server, Sentinel, Cluster), a client
 * or a cluster of node-redis, or what {@link fromUpstash} makes. A client stays yours: you set its options, open it,
 * handle its errors and close it.
 */
export type AnyRedisClient = IoredisClient | NodeRedisClient | NodeRedisCluster | RedisClient;

/** All stores and controls on one client share what was made of it: how often it is hurried counts once. */
const made = new WeakMap<object, RedisClient>();

/**
 * The client as the store knows it.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
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

/** Tells whether an object has a member of a type. Nothing is read that the object does not have. */
function hasOf(object: object): (name: string, type: string) => boolean {
  const members = object as Readonly<Record<string, unknown>>;
  // A client of Upstash is a proxy that makes a command of each name.
  return (name, type) => name in object && typeof members[name] === type;
}

/** @param got must not show the value: a URL contains a password, and to print a client of Upstash sends a command */
function noClient(got: string): SpillwayError {
  return new SpillwayError(
    'SPW_OPTION_INVALID',
    'client must be one of ioredis or iovalkey, such as new Redis(url), one of node-redis 5 or later, made by ' +
      `createClient or createCluster, or what fromUpstash makes, got ${got}`,
  );
}
