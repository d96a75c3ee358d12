/** The exchange of Koa: a refusal goes through the context, so that middleware before this sees status and body. */

import { NodeExchange } from '@spillway/core/node';
import type { Context } from 'koa';

export class KoaExchange extends NodeExchange {
  private readonly ctx: Context;

  constructor(ctx: Context, isOwn: boolean) {
    super(ctx.req, ctx.res, isOwn);
    this.ctx = ctx;
  }

  protected override setStatus(status: number): void {
    this.ctx.status = status; // Koa's own note of it, or a body would make it 200
  }

  protected override end(body: string): void {
    const { ctx } = this;
    // Koa would add the body to what was sent already, or is told to send nothing.
    if (ctx.headerSent || ctx.respond === false) super.end(body);
    else ctx.body = body;
  }
}
