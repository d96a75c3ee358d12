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

  /** Read from the URL, because `req.path` is partly decoded or comes from the app's `getPath`. */
  get path(): string {
    return pathOf(this.raw.req.url);
  }

  get route(): string | undefined {
    const { req } = this.raw;
    // The helper in `hono/route` returns the same, but exists only since Hono 4.8.
    const own = req.matchedRoutes[req.routeIndex];
    // A handler of `app.use` or `app.all` can serve many routes, so its path is not the route.
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

export function waitUntilOf(c: Context): WaitUntil | undefined {
  try {
    const { executionCtx } = c;
    // Callers of `app.fetch` may pass any object.
    if (typeof executionCtx.waitUntil !== 'function') return undefined;
    return (promise) => executionCtx.waitUntil(promise);
  } catch {
    return undefined; // Hono throws if the platform has no execution context
  }
}
