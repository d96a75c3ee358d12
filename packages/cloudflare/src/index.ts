/** Spillway on Cloudflare Workers: a store in Durable Objects, and a limiter over rate limit bindings. */

export { type ApproximateLimitOptions, approximateLimit } from './approximate-limit.js';
export type {
  ObjectNamespace,
  ObjectReply,
  ObjectRequest,
  ObjectRows,
  ObjectState,
  ObjectStorage,
  ObjectStub,
  RateLimitBinding,
} from './platform.js';
export { RateLimitObject } from './rate-limit-object.js';
export {
  type DurableObjectStore,
  type DurableObjectStoreOptions,
  durableObjectStore,
} from './store/durable-object-store.js';
