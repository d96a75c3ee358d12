/** Hono's request as limiters see it. */

import { pathOf } from '@spillway/core/adapter';
import { AddressedRequest, type AddressFinder, type WaitUntil } from '@spillway/core/fetch';
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

  /** Of `req.path` Hono has decoded a part, or an app's `getPath` has made it. */
  get path(): string {
    return pathOf(this.raw.req.url);
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
    const wait = waitUntilOf(this.raw);
    wait?.(promise);
    return wait !== undefined;
  }
}

/** How the platform is told to wait, if it has such a thing. */
export function waitUntilOf(c: Context): WaitUntil | undefined {
  try {
    const { executionCtx } = c;
    // Whoever calls an app by hand may give any object.
    if (typeof executionCtx.waitUntil !== 'function') return undefined;
    return (promise) => executionCtx.waitUntil(promise);
  } catch {
    return undefined; // Hono throws where the platform has none
  }
}
