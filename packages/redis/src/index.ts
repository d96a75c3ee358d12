/** Spillway's store and control on Redis. */

export type { RedisClient } from './client.js';
export type { DeclaredNumbers, KnownLimiter } from './control/known-limiter.js';
export {
  type RedisControl,
  type RedisControlOptions,
  redisControl,
} from './control/redis-control.js';
export type { IoredisClient } from './ioredis.js';
export {
  fromNodeRedis,
  type NodeRedisCalls,
  type NodeRedisClient,
  type NodeRedisLike,
} from './node-redis.js';
export { fromNodeRedisCluster, type NodeRedisCluster } from './node-redis-cluster.js';
export { type RedisStore, type RedisStoreOptions, redisStore } from './redis-store.js';
export { fromUpstash, type UpstashClient, type UpstashPipeline } from './upstash.js';
