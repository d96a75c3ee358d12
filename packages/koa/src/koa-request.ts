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
 * Koa mounts change `ctx.url`, but not `ctx.originalUrl`. An outer framework that mounts the app puts the target into
 * `req.originalUrl`.
 */
export function targetOf({ req, originalUrl }: Context): string {
  return (req as { readonly originalUrl?: string }).originalUrl ?? originalUrl;
}
