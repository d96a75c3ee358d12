/** The class of Durable Objects that keeps the counts of one key. */

import type { Clock } from '@spillway/core';
import { systemClock } from '@spillway/core/store';
import { Rows } from './object/rows.js';
import { Service } from './object/service.js';
import { Sweep } from './object/sweep.js';
import type { ObjectReply, ObjectRequest, ObjectState } from './platform.js';

/**
 * Keeps the counts of one key in its SQLite storage, and decides about them, one call after another. A Worker exports
 * it and binds it in its Wrangler configuration, under `new_sqlite_classes`; {@link durableObjectStore} does the rest.
 *
 * @example
 * ```ts
 * export { RateLimitObject } from '@spillway/cloudflare';
 * ```
 */
export class RateLimitObject {
  /** What Cloudflare's types call a class of Durable Objects by. */
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

  /** Clears what is over. Called by the platform. */
  alarm(): Promise<void> {
    return this.sweep.onAlarm(systemClock.nowUs());
  }
}

/** The field that tells a {@link RateLimitObjectAt} the time. */
export const NOW_FIELD = 'spillway-now-us';

/** The class for {@link durableObjectStoreAt}: whoever calls it sets its clock, and nothing is ever cleared. */
export class RateLimitObjectAt {
  declare readonly __DURABLE_OBJECT_BRAND: never;
  private readonly service: Service;
  private nowUs = 0;

  /** Called by the platform. */
  constructor(state: ObjectState, _env?: unknown) {
    const clock: Clock = { nowUs: () => this.nowUs };
    this.service = new Service(new Rows(state.storage), clock);
  }

  /** Answers a call of {@link durableObjectStoreAt}. Called by the platform. */
  async fetch(request: ObjectRequest): Promise<ObjectReply> {
    const text = await request.text();
    this.nowUs = Number(request.headers.get(NOW_FIELD));
    return replyOf(await this.service.handleCall(text));
  }
}

function replyOf(text: string): ObjectReply {
  const { Response } = globalThis as unknown as { Response: new (body: string) => ObjectReply };
  return new Response(text);
}
