/** The answer that a handler gives by a response of node:http, seen before whatever stands behind it changes it. */

import type { AnswerWatcher } from '../contract/recorder.js';
import { bytesOf } from './body.js';

type Method = (...args: unknown[]) => unknown;

/** What is needed of `ServerResponse`, and of its like of HTTP/2, to see what a handler answers. */
export interface NodeAnswer {
  readonly statusCode: number;
  readonly headersSent: boolean;
  getHeader(name: string): unknown;
  writeHead: Method;
  write: Method;
  end: Method;
  destroy(error?: Error): unknown;
}

/**
 * Shows the answer as it is written from now on. Middleware that was mounted before and changes what is written, as
 * compression does, comes after this: its changes are not seen, and will be made again when the answer is repeated.
 */
export function watchAnswer(res: NodeAnswer, watcher: AnswerWatcher): void {
  const { writeHead, write, end } = res;
  let hasBegun = false;
  let hasEnded = false;
  const begin = (status: number = res.statusCode, own?: unknown): void => {
    if (hasBegun || status < 200) return;
    hasBegun = true;
    watcher.head(status, (name) => fieldOf(res, own, name));
  };
  /** What throws before the head was sent has begun nothing: an error handler may answer yet. */
  const attempt = (method: Method, args: unknown[]): unknown => {
    try {
      return Reflect.apply(method, res, args);
    } catch (error) {
      hasBegun = res.headersSent;
      throw error;
    }
  };
  res.writeHead = (...args) => {
    if (!hasEnded)
      begin(args[0] as number, typeof args[1] === 'string' ? args[2] : (args[1] ?? args[2]));
    return attempt(writeHead, args);
  };
  res.write = (...args) => {
    if (hasEnded) return Reflect.apply(write, res, args);
    begin();
    const more = attempt(write, args);
    if (isChunk(args[0])) watcher.chunk(bytesOf(args[0], args[1]));
    return more;
  };
  res.end = (...args) => {
    if (hasEnded || !(isChunk(args[0]) || isLeftOut(args[0]))) return attempt(end, args);
    begin();
    hasEnded = true;
    if (isChunk(args[0])) watcher.chunk(bytesOf(args[0], args[1]));
    const kept = watcher.end();
    if (!kept) return attempt(end, args);
    void kept.then(() => attempt(end, args)).catch((error: Error) => res.destroy(error));
    return res;
  };
}

function isChunk(value: unknown): boolean {
  return typeof value === 'string' || value instanceof Uint8Array;
}

function isLeftOut(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'function';
}

/** A field of the head: of those given to `writeHead`, an object or a flat list, or of those that were set before. */
function fieldOf(res: NodeAnswer, own: unknown, name: string): string | undefined {
  const value = ownField(own, name.toLowerCase()) ?? res.getHeader(name);
  if (value === undefined || value === null) return undefined;
  return Array.isArray(value) ? value.join(', ') : String(value);
}

function ownField(own: unknown, name: string): unknown {
  if (typeof own !== 'object' || own === null) return undefined;
  const pairs: [string, unknown][] = [];
  if (!Array.isArray(own)) pairs.push(...Object.entries(own));
  else if (Array.isArray(own[0])) pairs.push(...own);
  else for (let i = 0; i + 1 < own.length; i += 2) pairs.push([String(own[i]), own[i + 1]]);
  const values = pairs.filter(([key]) => String(key).toLowerCase() === name);
  return values.length > 1 ? values.map(([, value]) => value) : values[0]?.[1];
}
