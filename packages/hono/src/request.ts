/** Hono's request as limiters see it. */

import { AddressedRequest, type AddressFinder } from '@spillway/core/fetch';
import type { Context } from 'hono';

export class HonoRequest extends AddressedRequest<Context, readonly [Context]> {
  readonly raw: Context;

  constructor(raw: Context, finder: AddressFinder<readonly [Context]>) {
    super(finder, [raw]);
    this.raw = raw;
  }

  get method(): string {
    return this.raw.req.method.toUpperCase();
  }

  get path(): string {
    return this.raw.req.path;
  }

  get route(): string | undefined {
    const { req } = this.raw;
    // The helper of `hono/route` says the same, but only from 4.8 on.
    const own = req.matchedRoutes[req.routeIndex];
    // What `app.use` and `app.all` put in the way of many routes is none.
    return own && own.method !== 'ALL' ? own.path : undefined;
  }

  header(name: string): string | undefined {
    return this.raw.req.header(name);
  }

  waitUntil(promise: Promise<unknown>): boolean {
    try {
      this.raw.executionCtx.waitUntil(promise);
      return true;
    } catch {
      return false; // Hono throws where the platform has none
    }
  }
}
