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
 * Returns the request target as the client sent it. Koa mounts change only `ctx.url`. If an outer framework mounts the
 * app, the target is in `req.originalUrl`.
 */
export function targetOf({ req, originalUrl }: Context): string {
  return (req as { readonly originalUrl?: string }).originalUrl ?? originalUrl;
}
