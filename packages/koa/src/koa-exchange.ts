import type { Admission } from '@spillway/core';
import type { Recorder, Recorders, ResponseWatcher, StoredResponse } from '@spillway/core/adapter';
import { NodeExchange } from '@spillway/core/node';
import type { Context } from 'koa';
import { targetOf } from './koa-request.js';

export class KoaExchange extends NodeExchange {
  /** Receives the response, to store it for an idempotency key; undefined if it isn't stored. */
  watcher: ResponseWatcher | undefined;
  private readonly ctx: Context;
  private before: { readonly status: number; readonly body: unknown } | undefined;

  constructor(ctx: Context, isOwn: boolean) {
    super(ctx.req, ctx.res, isOwn);
    this.ctx = ctx;
    this.watcher = undefined;
    this.before = undefined;
  }

  override recorder(recorders: Recorders): Recorder {
    const recorder = super.recorder(recorders);
    const watch = recorder.watchResponse.bind(recorder);
    recorder.watchResponse = (watcher) => {
      this.watcher = watcher;
      watch(watcher); // for streams, and for bytes that bypass the context
    };
    return recorder;
  }

  override replay(answer: StoredResponse): void {
    super.replay(answer);
    // When a body is set, Koa guesses the type. Some versions overwrite any type with the JSON type.
    const type = answer.headers.find(([name]) => name === 'Content-Type')?.[1];
    if (type === undefined) this.ctx.remove('Content-Type');
    else if (!isBodiless(answer.status)) this.setHeader('Content-Type', type);
  }

  override reject(admission: Admission): void {
    super.reject(admission);
    this.before = { status: this.ctx.status, body: this.ctx.body };
  }

  override isAnswered(): boolean {
    const { before, ctx } = this;
    if (this.canAnswerLater()) return super.isAnswered();
    return ctx.status !== before?.status || ctx.body !== before.body;
  }

  /** True only if the app bypasses Koa's context. Otherwise Koa sends the response when the middleware returns. */
  override canAnswerLater(): boolean {
    return this.ctx.respond === false || this.ctx.headerSent;
  }

  protected override get target(): string {
    return targetOf(this.ctx);
  }

  protected override parsedBody(): unknown {
    return (this.ctx.request as { readonly body?: unknown }).body;
  }

  protected override setStatus(status: number): void {
    this.ctx.status = status; // must be explicit, because setting a body would make it 200
  }

  protected override end(body: string): void {
    const { ctx } = this;
    // Otherwise Koa would append the body to the sent bytes or, with `respond` false, send nothing.
    if (ctx.headerSent || ctx.respond === false) super.end(body);
    else ctx.body = body;
  }

  protected override endWith(body: Uint8Array): void {
    const { ctx } = this;
    if (ctx.headerSent || ctx.respond === false) super.endWith(body);
    else ctx.body = isBodiless(ctx.status) ? null : asHandlersGive(Buffer.from(body), ctx.type);
  }
}

/**
 * Returns the body as an object or as text if possible, because outer middleware may not handle bytes. If Koa would
 * turn the result into other bytes, the body stays bytes.
 */
function asHandlersGive(bytes: Buffer, type: string): unknown {
  const text = bytes.toString();
  if (JSON_TYPE.test(type)) {
    const value = parsed(text);
    if (typeof value === 'object' && value !== null && JSON.stringify(value) === text) return value;
  }
  const isText = JSON_TYPE.test(type) || type.startsWith('text/');
  return isText && Buffer.from(text).equals(bytes) ? text : bytes;
}

const JSON_TYPE = /^application\/([\w.-]+\+)?json$/;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}
