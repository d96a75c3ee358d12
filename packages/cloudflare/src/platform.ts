/** The parts of Cloudflare's types that Spillway uses, declared here so that apps need not install those types. */

/** A binding to a class of Durable Objects, such as `env.LIMITS`. */
export interface ObjectNamespace {
  idFromName(name: string): object;
  get(id: object, options?: { readonly locationHint?: string }): ObjectStub;
}

/** A Durable Object, as a Worker sees it. */
export interface ObjectStub {
  fetch(url: string, init: ObjectInit): Promise<ObjectReply>;
}

interface ObjectInit {
  readonly method: string;
  readonly body: string;
  readonly headers?: Record<string, string>;
}

/** The members of a `Response` that Spillway uses. */
export interface ObjectReply {
  readonly status: number;
  text(): Promise<string>;
}

/** The members of a `Request` that Spillway uses. */
export interface ObjectRequest {
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** The `ctx` that the platform gives to an object of a class with SQLite. */
export interface ObjectState {
  readonly storage: ObjectStorage;
  blockConcurrencyWhile<T>(run: () => Promise<T>): Promise<T>;
}

/** The members of `ctx.storage` that Spillway uses. */
export interface ObjectStorage {
  readonly kv: ObjectRows;
  transactionSync<T>(run: () => T): T;
  getAlarm(): Promise<number | null>;
  setAlarm(ms: number): Promise<void>;
  deleteAll(): Promise<void>;
}

/** The synchronous key-value API of the storage. */
export interface ObjectRows {
  get(name: string): unknown;
  put(name: string, value: unknown): void;
  delete(name: string): boolean;
  list(options?: { readonly prefix?: string }): Iterable<[string, unknown]>;
}

/** A rate limit binding of Workers, such as `env.FLOOD`. */
export interface RateLimitBinding {
  limit(options: { key: string }): Promise<{ readonly success: boolean }>;
}
