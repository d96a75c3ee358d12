/** Spillway's store and control on Redis. */

export type { AnyRedisClient } from './clients/as-redis-client.js';
export type { RedisClient } from './clients/client.js';
export type { IoredisClient } from './clients/ioredis.js';
export type { NodeRedisCalls, NodeRedisClient, NodeRedisLike } from './clients/node-redis.js';
export type { NodeRedisCluster } from './clients/node-redis-cluster.js';
export { fromUpstash, type UpstashClient, type UpstashPipeline } from './clients/upstash.js';
export type { Follower } from './control/followers.js';
export type { KnownLimiter } from './control/known-limiter.js';
export { redisControl } from './control/redis-control.js';
export type {
  RedisControl,
  RedisControlOptions,
  Restored,
} from './control/redis-control-options.js';
export {
  type ProcessReport,
  type RedisReports,
  type RedisReportsOptions,
  redisReports,
} from './control/redis-reports.js';
export { type RedisStore, type RedisStoreOptions, redisStore } from './redis-store.js';
