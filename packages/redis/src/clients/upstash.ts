import type { RedisClient } from './client.js';

/** The members of a client of `@upstash/redis` that the store uses. */
export interface UpstashClient {
  pipeline(): UpstashPipeline;
}

/** Commands that are sent together when `exec` is called. */
export interface UpstashPipeline {
  evalsha(sha: string, keys: string[], args: string[]): unknown;
  eval(script: string, keys: string[], args: string[]): unknown;
  exec(options: { keepErrors: true }): Promise<unknown>;
}

/**
 * Adapts an Upstash client for `redisStore`. It uses Redis over HTTP, for hosts where sockets end with the request.
 * Each decision is a separate HTTP request, unless you set `coalesce`.
 *
 * @example
 * ```ts
 * import { fromUpstash, redisStore } from '@spillway/redis';
 * import { Redis } from '@upstash/redis';
 *
 * const client = new Redis({ url: 'https://example.upstash.io', token: 'secret', retry: { retries: 0 } });
 * const store = redisStore(fromUpstash(client));
 * ```
 */
export function fromUpstash(client: UpstashClient): RedisClient {
  return new Upstash(client);
}

class Upstash implements RedisClient {
  readonly state = 'ready';
  readonly coalesce = false;
  readonly label = 'Redis over HTTP';
  private readonly client: UpstashClient;

  constructor(client: UpstashClient) {
    this.client = client;
  }

  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown> {
    const pipeline = this.client.pipeline();
    pipeline.evalsha(sha, keys, args);
    return onlyResult(pipeline);
  }

  eval(script: string, keys: string[], args: string[]): Promise<unknown> {
    const pipeline = this.client.pipeline();
    pipeline.eval(script, keys, args);
    return onlyResult(pipeline);
  }

  onceChanged(): () => void {
    return () => {};
  }
}

/**
 * Sends the pipeline, which has one command. Without a pipeline, the client would by default combine commands of
 * several requests, and all of them would wait for one promise.
 */
async function onlyResult(pipeline: UpstashPipeline): Promise<unknown> {
  const replies = await pipeline.exec({ keepErrors: true });
  const [reply] = replies as readonly [{ readonly result?: unknown; readonly error?: string }];
  if (reply.error) throw new Error(reply.error);
  return reply.result;
}
