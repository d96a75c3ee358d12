/**
 * The answer that handlers have given by the context, seen when they are done: before middleware in front of the guard
 * changes it, as compression does, and also when the client is gone, to whom Koa writes nothing.
 */

import { STATUS_CODES } from 'node:http';
import type { ResponseWatcher } from '@spillway/core/adapter';
import type { Context } from 'koa';

/** Runs the handlers, and shows their answer to `watcher`. What they throw is thrown. */
export async function watchResponse(
  ctx: Context,
  watcher: ResponseWatcher,
  next: () => Promise<unknown>,
): Promise<unknown> {
  let result: unknown;
  try {
    result = await next();
  } catch (error) {
    // Else it is seen when the error handler has answered.
    if (!ctx.writable) await showResponse(ctx, watcher, statusOf(error), undefined);
    throw error;
  }
  if (ctx.respond === false || ctx.headerSent) return result;
  const body = bytesOf(ctx);
  if (body) await showResponse(ctx, watcher, ctx.status, body);
  else if (!ctx.writable) await drain(ctx, watcher);
  return result;
}

/** The body that Koa will send as a whole; undefined if it is to be seen as it is sent. */
function bytesOf({ method, status, body }: Context): Uint8Array | undefined {
  if (method === 'HEAD' || status === 205 || status === 304) return undefined;
  if (status === 204) return new Uint8Array();
  if (body === null || body === undefined) return undefined; // middleware in front may have one
  if (typeof body === 'string') return Buffer.from(body);
  if (Buffer.isBuffer(body)) return body; // of other views Koa makes JSON
  return isJson(body) ? Buffer.from(JSON.stringify(body)) : undefined;
}

/** Whether Koa makes JSON of it: not of streams, blobs and responses. */
function isJson(body: object): boolean {
  const shape = Object.prototype.toString.call(body);
  if (/^\[object (ReadableStream|Blob|Response)]$/.test(shape)) return false;
  return typeof (body as { readonly pipe?: unknown }).pipe !== 'function';
}

/** Nobody reads it any more. */
async function drain(ctx: Context, watcher: ResponseWatcher): Promise<void> {
  const { body } = ctx as { body?: AsyncIterable<Uint8Array | string> | null };
  watcher.head(ctx.status, (name) => fieldOf(ctx, name));
  if (typeof body?.[Symbol.asyncIterator] === 'function') {
    for await (const chunk of body) watcher.chunk(Buffer.from(chunk as Uint8Array));
  }
  await watcher.end();
}

async function showResponse(
  ctx: Context,
  watcher: ResponseWatcher,
  status: number,
  body: Uint8Array | undefined,
): Promise<void> {
  watcher.head(status, (name) => (body ? fieldOf(ctx, name) : undefined));
  if (body) watcher.chunk(body);
  await watcher.end();
}

function fieldOf({ res }: Context, name: string): string | undefined {
  const value = res.getHeader(name);
  if (value === undefined) return undefined;
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** As Koa 3 finds it. Koa 2 answers 404 to the code `ENOENT` too. */
function statusOf(error: unknown): number {
  if (!isError(error)) return 500;
  const { status, statusCode } = error as {
    readonly status?: unknown;
    readonly statusCode?: unknown;
  };
  const own = status || statusCode;
  return typeof own === 'number' && own >= 200 && own in STATUS_CODES ? own : 500;
}

/** Also if it is of another realm. */
function isError(thrown: unknown): boolean {
  return thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]';
}
