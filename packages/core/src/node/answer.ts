import type { ResponseWatcher, Sender } from '../contract/recorder.js';
import { bytesOf } from './body.js';
import { isGone, type NodeRequest, type NodeResponse, onceClosed } from './node-exchange.js';

type Method = (...args: unknown[]) => unknown;

export interface NodeAnswer {
  readonly statusCode: number;
  readonly headersSent: boolean;
  readonly req?: { readonly method?: string | undefined };
  /** Present only on HTTP/2. */
  readonly stream?: unknown;
  getHeader(name: string): unknown;
  setHeader(name: string, value: number): unknown;
  removeHeader(name: string): unknown;
  on(event: 'pipe', listener: () => void): unknown;
  destroy(): unknown;
  writeHead: Method;
  write: Method;
  end: Method;
}

/** A response of fetch, which an app sends over node:http. */
interface SentAnswer {
  readonly status?: number;
  readonly headers?: { get(name: string): string | null };
  readonly body?: unknown;
}

const LENGTH = 'Content-Length';

const BODILESS = [204, 205, 304];

/** If one of these headers is set, `Content-Length` is already set or must not be sent. */
const FRAMING = [LENGTH, 'Transfer-Encoding', 'Trailer'];

/**
 * Records the response as the handler writes it. If the client goes while the body is sent in pieces, only the head is
 * recorded. The recording lacks the changes by middleware that is mounted before the guard, such as compression.
 * Replays pass through that middleware too.
 */
export function watchResponse(
  req: NodeRequest,
  res: NodeAnswer,
  watcher: ResponseWatcher,
  sender: Sender | undefined,
): void {
  const { writeHead, write, end } = res;
  let hasBegun = false;
  let hasEnded = false;
  let isWatched = false;
  let isCut = false;
  /** The bytes that `Content-Length` announces and the handler hasn't written yet. */
  let missing = Number.NaN;
  let keeping: Promise<void> | undefined;
  const beginHead = (status: number = res.statusCode, own?: unknown): void => {
    if (hasBegun || status < 200) return;
    hasBegun = true;
    missing = Number(fieldOf(res, own, LENGTH) ?? Number.NaN);
    watcher.head(status, (name) => fieldOf(res, own, name));
  };
  /** Calls back if the client leaves early. With all bytes, it may leave before the handler has ended the response. */
  const onceCut = (cut: () => void): void =>
    onceClosed(req, res as object as NodeResponse, () => {
      if (missing === 0) void watcher.end();
      else cut();
      return undefined;
    });
  /** Calls a method. If it throws before the head was sent, records again: another response may follow. */
  const attempt = (method: Method, args: unknown[]): unknown => {
    try {
      return Reflect.apply(method, res, args);
    } catch (error) {
      if (!res.headersSent) {
        hasBegun = false;
        if (hasEnded) watcher.unsent();
        hasEnded = false;
      }
      throw error;
    }
  };
  /** Ends the response after the attempt to store it. Until then `writableEnded` is true, so nothing changes it. */
  const endLater = (kept: Promise<void>, args: unknown[]): void => {
    sendHead(res, args);
    Object.defineProperty(res, 'writableEnded', { value: true, configurable: true });
    keeping = kept.then(() => {
      keeping = undefined;
      Reflect.deleteProperty(res, 'writableEnded');
      tryOrDestroy(res, end, args);
    });
  };
  const afterwards = (method: Method, args: unknown[]): void =>
    void keeping?.then(() => tryOrDestroy(res, method, args));
  // If the client goes, frameworks destroy the stream that they send, and write nothing to the response.
  const watchStream = (answer: SentAnswer | undefined): void =>
    onceCut(() => {
      if (!hasBegun) {
        const { status = res.statusCode, headers } = answer ?? {};
        watcher.head(status, (name) => headers?.get(name) ?? fieldOf(sender ?? res, {}, name));
      }
      watcher.fail(); // changes nothing if the response has ended
    });
  res.on('pipe', () => watchStream(undefined));
  if (sender) {
    const { send } = sender;
    sender.send = (payload) => {
      const sent = send.call(sender, payload);
      const answer = payload as SentAnswer | undefined;
      if (isWebStream(answer)) watchStream(undefined);
      else if (isWebStream(answer?.body)) watchStream(answer);
      return sent;
    };
  }
  res.writeHead = (...args) => {
    if (!hasEnded)
      beginHead(args[0] as number, typeof args[1] === 'string' ? args[2] : (args[1] ?? args[2]));
    return attempt(writeHead, args);
  };
  res.write = (...args) => {
    if (keeping) {
      afterwards(write, args);
      return false;
    }
    if (hasEnded) return Reflect.apply(write, res, args);
    if (!isWatched && !isGone(req, res as object as NodeResponse)) {
      // If the client leaves now, the handler may stop, so what it writes later may be a part.
      onceCut(() => {
        isCut = true;
      });
    }
    isWatched = true;
    beginHead();
    const more = attempt(write, args);
    if (isChunk(args[0])) {
      const bytes = bytesOf(args[0], args[1]);
      missing -= bytes.length;
      watcher.chunk(bytes);
    }
    return more;
  };
  res.end = (...args) => {
    if (keeping) {
      afterwards(end, args);
      return res;
    }
    if (hasEnded || !(isChunk(args[0]) || isLeftOut(args[0]))) return attempt(end, args);
    beginHead();
    hasEnded = true;
    if (isCut) watcher.fail();
    if (isChunk(args[0])) watcher.chunk(bytesOf(args[0], args[1]));
    const kept = watcher.end();
    if (!kept) return attempt(end, args);
    endLater(kept, args);
    return res;
  };
}

/** Destroys the response if a late `write` or `end` throws, because the handler can no longer catch the error. */
function tryOrDestroy(res: NodeAnswer, method: Method, args: unknown[]): void {
  try {
    Reflect.apply(method, res, args);
  } catch {
    res.destroy();
  }
}

/** Sends the head of a response that is about to end, with the `Content-Length` that Node would add at the end. */
function sendHead(res: NodeAnswer, [body, encoding]: unknown[]): void {
  const { statusCode, stream, req } = res;
  const isBodiless = BODILESS.includes(statusCode) || req?.method === 'HEAD';
  // On HTTP/2 the head of a bodiless response ends the stream.
  if (res.headersSent || (stream && isBodiless)) return;
  const isMissing = FRAMING.every((name) => res.getHeader(name) === undefined);
  const tellsLength = isMissing && (!isBodiless || (req?.method === 'HEAD' && isChunk(body)));
  if (tellsLength) res.setHeader(LENGTH, isChunk(body) ? bytesOf(body, encoding).length : 0);
  try {
    res.writeHead(statusCode); // a method that inner middleware may have replaced
  } catch (error) {
    if (tellsLength) res.removeHeader(LENGTH); // an error handler's response has another length
    throw error;
  }
}

function isChunk(value: unknown): boolean {
  return typeof value === 'string' || value instanceof Uint8Array;
}

function isLeftOut(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'function';
}

function isWebStream(value: unknown): boolean {
  return typeof (value as { getReader?: unknown } | undefined | null)?.getReader === 'function';
}

function fieldOf(
  res: Pick<NodeAnswer, 'getHeader'>,
  own: unknown,
  name: string,
): string | undefined {
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
