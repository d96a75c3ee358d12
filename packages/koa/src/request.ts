/** Koa's context as limiters see it. */

import { NodeLimitRequest } from '@spillway/core/node';
import type { Context } from 'koa';

export class KoaRequest extends NodeLimitRequest<Context> {
  override get route(): string | undefined {
    const path: unknown = this.raw._matchedRoute; // set by @koa/router
    return typeof path === 'string' ? path : undefined;
  }

  /** Unlike `ctx.url`, nothing has rewritten it, and no mount has cut it. */
  protected override get target(): string {
    return this.raw.originalUrl;
  }
}
