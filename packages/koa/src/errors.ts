import { admissionsOf } from '@spillway/core';
import type { Context } from 'koa';

const INNER: unique symbol = Symbol('spillway.onerror');

interface Answering extends Context {
  [INNER]?: Context['onerror'];
}

/**
 * Keeps the headers of guards on error responses, because Koa's `ctx.onerror` removes headers that are not on the
 * error. A catch around `next()` would cost each request a promise, and miss errors of a body's stream.
 */
export function keepFieldsOnError(ctx: Answering): void {
  if (ctx.onerror === onerror) return;
  ctx[INNER] = ctx.onerror;
  ctx.onerror = onerror;
}

function onerror(this: Answering, error: Error & { headers?: unknown }): void {
  const inner = this[INNER] as Context['onerror'];
  // Koa also calls this at the end of each response without an error, and wraps thrown values that are not errors.
  if (!isError(error)) {
    inner.call(this, error);
    return;
  }
  const { headers } = error;
  const own = Object.hasOwn(error, 'headers');
  // `Reflect.set` doesn't throw on a read-only property. Koa then answers without these headers.
  Reflect.set(error, 'headers', { ...fieldsOf(this), ...(headers as object | undefined) });
  try {
    inner.call(this, error);
  } finally {
    // The app may throw the same object for the next client.
    if (own) Reflect.set(error, 'headers', headers);
    else Reflect.deleteProperty(error, 'headers');
  }
}

/** Recognizes errors as Koa does: another realm has its own `Error`, so `instanceof` is not enough. */
function isError(thrown: unknown): boolean {
  return Object.prototype.toString.call(thrown) === '[object Error]' || thrown instanceof Error;
}

function fieldsOf(ctx: Context): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const admission of admissionsOf(ctx)) {
    for (const [name] of admission.headers) {
      const value = ctx.res.getHeader(name);
      if (value !== undefined && name !== 'Content-Type') fields[name] = String(value);
    }
  }
  return fields;
}
