/** The exchange of Koa: what a guard answers goes through the context, so that middleware before this sees it. */

import type { AnswerWatcher, KeptAnswer, Recorder } from '@spillway/core/adapter';
import { NodeExchange } from '@spillway/core/node';
import type { Context } from 'koa';

export class KoaExchange extends NodeExchange {
  /** Who keeps the answer of this request, if anybody does. */
  watcher: AnswerWatcher | undefined;
  private readonly ctx: Context;

  constructor(ctx: Context, isOwn: boolean) {
    super(ctx.req, ctx.res, isOwn);
    this.ctx = ctx;
    this.watcher = undefined;
  }

  override recorder(): Recorder {
    const recorder = super.recorder();
    const watch = recorder.watchAnswer.bind(recorder);
    recorder.watchAnswer = (watcher) => {
      this.watcher = watcher;
      watch(watcher); // what is written past the context, and streams
    };
    return recorder;
  }

  override repeat(answer: KeptAnswer): void {
    super.repeat(answer);
    // Koa guesses a type for a body that has none.
    if (!answer.fields.some(([name]) => name === 'Content-Type')) this.ctx.remove('Content-Type');
  }

  protected override parsedBody(): unknown {
    return (this.ctx.request as { readonly body?: unknown }).body;
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

  protected override endWith(body: Uint8Array): void {
    const { ctx } = this;
    if (ctx.headerSent || ctx.respond === false) super.endWith(body);
    else ctx.body = isBodiless(ctx.status) ? null : Buffer.from(body);
  }
}

function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}
