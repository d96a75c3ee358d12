/** Koa's context as limiters see it. */

import { NodeLimitRequest } from '@spillway/core/node';
import type { Context } from 'koa';

export class KoaRequest extends NodeLimitRequest<Context> {
  override get route(): string | undefined {
    const path: unknown = this.raw._matchedRoute; // set by @koa/router
    return typeof path === 'string' ? path : undefined;
  }

  protected override get target(): string {
    return targetOf(this.raw);
  }
}

/**
 * The target as the client sent it. Unlike `ctx.url`, nothing has rewritten it, and no mount has cut it, of Koa or of a
 * framework that Koa's callback is mounted in: that has noted it on the request.
 */
export function targetOf({ req, originalUrl }: Context): string {
  return (req as { readonly originalUrl?: string }).originalUrl ?? originalUrl;
}
