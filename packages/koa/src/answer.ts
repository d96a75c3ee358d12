/**
 * Records the response as soon as the handlers return, before outer middleware (such as compression) changes it;
 * streams are recorded while they are sent. The response is recorded even if the client has disconnected and Koa writes
 * nothing.
 */

import { STATUS_CODES } from 'node:http';
import type { ResponseWatcher } from '@spillway/core/adapter';
import type { NodeExchange } from '@spillway/core/node';
import type { Context } from 'koa';

type Bytes = AsyncIterable<Uint8Array | string>;

/** A `Blob` or `Response`. */
interface WebBody {
  stream(): Bytes;
  readonly body: Bytes | null;
}

export async function watchResponse(
  ctx: Context,
  exchange: NodeExchange,
  watcher: ResponseWatcher,
  next: () => Promise<unknown>,
): Promise<unknown> {
  let result: unknown;
  try {
    result = await next();
  } catch (error) {
    // If the client is still connected, the error handler's response is recorded while it is sent.
    if (!ctx.writable) await showResponse(ctx, watcher, statusOf(error), undefined);
    exchange.whenClosed(() => watcher.fail());
    throw error;
  }
  if (ctx.respond === false) return result;
  const body = ctx.headerSent ? undefined : bytesOf(ctx);
  if (body) await showResponse(ctx, watcher, ctx.status, body);
  else if (!ctx.headerSent && !ctx.writable) await drain(ctx, watcher);
  // If the client leaves now, Koa neither sends a stream nor ends what handlers have begun on Node's response.
  exchange.whenClosed(() => {
    if (!ctx.headerSent) watcher.head(ctx.status, (name) => fieldOf(ctx, name));
    watcher.fail();
  });
  return result;
}

/** The body, if Koa will send it as a whole; undefined if it must be recorded while it is sent. */
function bytesOf({ method, status, body }: Context): Uint8Array | undefined {
  if (method === 'HEAD' || status === 205 || status === 304) return undefined;
  if (status === 204) return new Uint8Array();
  if (body === null || body === undefined) return undefined; // outer middleware may still set a body
  if (typeof body === 'string') return Buffer.from(body);
  if (Buffer.isBuffer(body)) return body; // Koa sends other typed arrays as JSON
  return isJson(body) ? Buffer.from(JSON.stringify(body)) : undefined;
}

/** Koa sends all objects as JSON except streams, blobs and responses. */
function isJson(body: object): boolean {
  const shape = Object.prototype.toString.call(body);
  if (/^\[object (ReadableStream|Blob|Response)]$/.test(shape)) return false;
  return typeof (body as { readonly pipe?: unknown }).pipe !== 'function';
}

/**
 * Reads a body to its end, because Koa doesn't if the client is gone. Koa destroys streams of Node: their bodies are
 * not kept.
 */
async function drain(ctx: Context, watcher: ResponseWatcher): Promise<void> {
  const { body } = ctx as { body?: Partial<Bytes & WebBody> | null };
  watcher.head(ctx.status, (name) => fieldOf(ctx, name));
  try {
    const stream = body?.stream?.() ?? body?.body ?? body;
    if (stream?.[Symbol.asyncIterator]) {
      for await (const chunk of stream as Bytes) {
        if (!watcher.chunk(Buffer.from(chunk as Uint8Array))) return watcher.fail();
      }
    }
    await watcher.end();
  } catch {
    watcher.fail();
  }
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

/** The status with which Koa 3 answers an error. Koa 2 also answers 404 if the error's code is `ENOENT`. */
function statusOf(error: unknown): number {
  if (!isError(error)) return 500;
  const { status, statusCode } = error as {
    readonly status?: unknown;
    readonly statusCode?: unknown;
  };
  const own = status || statusCode;
  return typeof own === 'number' && own >= 200 && own in STATUS_CODES ? own : 500;
}

/** Recognizes errors as Koa does: another realm has its own `Error`, so `instanceof` is not enough. */
function isError(thrown: unknown): boolean {
  return thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]';
}
