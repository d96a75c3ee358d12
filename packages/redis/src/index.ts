/** Spillway's store on Redis. */

export type { RedisClient } from './client.js';
export { type RedisStore, type RedisStoreOptions, redisStore } from './redis-store.js';
