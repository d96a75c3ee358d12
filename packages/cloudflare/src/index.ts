/** Spillway on Cloudflare Workers: a store in Durable Objects. */

export type {
  ObjectNamespace,
  ObjectReply,
  ObjectRequest,
  ObjectState,
  ObjectStorage,
  ObjectStub,
  SqlRows,
} from './platform.js';
export { RateLimitObject } from './rate-limit-object.js';
export {
  type DurableObjectStore,
  type DurableObjectStoreOptions,
  durableObjectStore,
} from './store/durable-object-store.js';
