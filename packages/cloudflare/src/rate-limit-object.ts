import type { Clock } from '@spillway/core';
import { systemClock } from '@spillway/core/store';
import { Rows } from './object/rows.js';
import { Service } from './object/service.js';
import { Sweep } from './object/sweep.js';
import type { ObjectReply, ObjectRequest, ObjectState } from './platform.js';

/**
 * Keeps the counts of one key in its SQLite storage. Export this class from your Worker. In the Wrangler configuration,
 * bind the class and list it under `new_sqlite_classes`. Pass the binding to {@link durableObjectStore}.
 *
 * @example
 * ```ts
 * export { RateLimitObject } from '@spillway/cloudflare';
 * ```
 */
export class RateLimitObject {
  /** The brand by which Cloudflare's types recognize a class of Durable Objects. */
  declare readonly __DURABLE_OBJECT_BRAND: never;
  private readonly service: Service;
  private readonly sweep: Sweep;

  /** Called by the platform. */
  constructor(state: ObjectState, _env?: unknown) {
    const rows = new Rows(state.storage);
    this.sweep = new Sweep(state.storage, rows);
    this.service = new Service(rows, systemClock, this.sweep);
    void state.blockConcurrencyWhile(() => this.sweep.load());
  }

  /** Answers a call of {@link durableObjectStore}. Called by the platform. */
  async fetch(request: ObjectRequest): Promise<ObjectReply> {
    return replyOf(await this.service.handleCall(await request.text()));
  }

  /** Deletes expired rows. Called by the platform. */
  alarm(): Promise<void> {
    return this.sweep.onAlarm(systemClock.nowUs());
  }
}

export const TEST_TIME_HEADER = 'spillway-now-us';

/** The class for {@link durableObjectStoreAt}. Callers set its clock, and expired rows are never deleted. */
export class RateLimitObjectAt {
  declare readonly __DURABLE_OBJECT_BRAND: never;
  private readonly service: Service;
  private nowUs = 0;

  constructor(state: ObjectState, _env?: unknown) {
    const clock: Clock = { nowUs: () => this.nowUs };
    this.service = new Service(new Rows(state.storage), clock);
  }

  async fetch(request: ObjectRequest): Promise<ObjectReply> {
    const text = await request.text();
    this.nowUs = Number(request.headers.get(TEST_TIME_HEADER));
    return replyOf(await this.service.handleCall(text));
  }
}

function replyOf(text: string): ObjectReply {
  const { Response } = globalThis as unknown as { Response: new (body: string) => ObjectReply };
  return new Response(text);
}
