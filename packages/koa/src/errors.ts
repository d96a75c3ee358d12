/**
 * Keeps the fields of guards on Koa's answers to errors, from which `ctx.onerror` takes every header that the error has
 * not.
 */

import { admissionsOf } from '@spillway/core';
import type { Context } from 'koa';

const INNER: unique symbol = Symbol('spillway.onerror');

interface Answering extends Context {
  [INNER]?: Context['onerror'];
}

/**
 * From now on an error of this request is answered with the fields that the response has from guards. Set on the
 * context, because a catch around `next()` would cost every request a promise, and not see a body's stream fail.
 */
export function keepFieldsOnError(ctx: Answering): void {
  if (ctx.onerror === onerror) return;
  ctx[INNER] = ctx.onerror;
  ctx.onerror = onerror;
}

function onerror(this: Answering, error: Error & { headers?: unknown }): void {
  const inner = this[INNER] as Context['onerror'];
  // Koa calls this at the end of every response, most often without an error; and replaces what is thrown and is none.
  if (!isError(error)) {
    inner.call(this, error);
    return;
  }
  const { headers } = error;
  const own = Object.hasOwn(error, 'headers');
  // `Reflect`, because they may be read-only: then Koa answers without the fields.
  Reflect.set(error, 'headers', { ...fieldsOf(this), ...(headers as object | undefined) });
  try {
    inner.call(this, error);
  } finally {
    // The error is the app's, which may throw the same one for the next client.
    if (own) Reflect.set(error, 'headers', headers);
    else Reflect.deleteProperty(error, 'headers');
  }
}

/** Koa's own test, which knows the errors of another realm too. */
function isError(thrown: unknown): boolean {
  return Object.prototype.toString.call(thrown) === '[object Error]' || thrown instanceof Error;
}

/** What guards have set on a response, with the values it has now. */
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
