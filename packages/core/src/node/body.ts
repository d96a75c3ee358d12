/** The body of a request of node:http: seen as it passes to a handler, or read to its end where no handler gets it. */

import { after } from '../base/host.js';
import type { BodyEnd, BodyLimits, BodyWatcher } from '../contract/recorder.js';

declare const TextEncoder: new () => { encode(text: string): Uint8Array };

/** What only Node and its like have; there, streams are written in other encodings than UTF-8, too. */
interface NodeGlobals {
  readonly Buffer?: { from(text: string, encoding: string): Uint8Array };
}

type Listener = (...args: never[]) => void;

/** What is needed of `IncomingMessage`, and of its like of HTTP/2, to see its body. */
export interface NodeBody {
  readonly headers: { readonly [name: string]: unknown };
  readonly readableEncoding?: string | null;
  /** Whether anybody has read any of it. */
  readonly readableDidRead?: boolean;
  readonly destroyed?: boolean;
  /** Whether all of it has come; on HTTP/2 also whether it was reset. */
  readonly complete?: boolean;
  /** Whether Node throws the rest of it away, for the response is over and nobody has read any. */
  readonly _dumped?: boolean;
  /** Of HTTP/2. */
  readonly stream?: { readonly endAfterHeaders?: boolean };
  emit(event: string, ...args: unknown[]): boolean;
  unshift(...args: unknown[]): unknown;
  on(event: string, listener: Listener): unknown;
  removeListener(event: string, listener: Listener): unknown;
  pause(): unknown;
}

/**
 * Shows the bytes of a body as they pass to whoever reads it. Every way of reading (`data`, `pipe`, iteration, `read`)
 * emits `data` for each piece and then `end`.
 */
export function watchBody(req: NodeBody, watcher: BodyWatcher): void {
  if (hasNoBody(req)) {
    watcher.end();
    return;
  }
  if (req.readableDidRead) return;
  const { emit, unshift } = req;
  let length = 0;
  // What a reader has put back comes again, and some texts are not what was sent: the bytes are not known any more.
  let isKnown = true;
  req.unshift = (...args) => {
    isKnown = false;
    return Reflect.apply(unshift, req, args);
  };
  req.emit = (event, ...args) => {
    if (event === 'data' && isKnown) {
      isKnown = !isLossy(args[0], req.readableEncoding);
      const bytes = bytesOf(args[0], req.readableEncoding);
      length += bytes.length;
      watcher.chunk(bytes);
    } else if (event === 'end' && isKnown && !req._dumped) {
      if (isWhole(req, length)) watcher.end();
      else watcher.cut();
    } else if (event === 'aborted' && (req.stream || !req.complete)) watcher.cut();
    return Reflect.apply(emit, req, [event, ...args]);
  };
}

/** Whether a text may stand for other bytes than those that it would be written with. */
function isLossy(chunk: unknown, encoding: unknown): boolean {
  if (typeof chunk !== 'string') return false;
  if (encoding === 'utf8') return chunk.includes('\ufffd');
  return !LOSSLESS.includes(String(encoding));
}

const LOSSLESS = ['latin1', 'hex', 'base64', 'base64url'];

/** Whether a body that has ended with `length` bytes is all there. On HTTP/2 Node ends one too that was reset. */
function isWhole({ headers }: NodeBody, length: number): boolean {
  const told = headers['content-length'];
  return told === undefined || Number(told) === length;
}

/** Reads a body to its end. What is left of one that is too large, or late, stays unread. */
export function readBody(
  req: NodeBody,
  watcher: BodyWatcher,
  { maxBytes, timeoutMs }: BodyLimits,
): Promise<BodyEnd> {
  if (hasNoBody(req)) {
    watcher.end();
    return Promise.resolve('whole');
  }
  if (req.readableDidRead || req.destroyed) return Promise.resolve('unknown');
  if (Number(req.headers['content-length']) > maxBytes) return Promise.resolve('too-large');
  return new Promise((resolve) => {
    let length = 0;
    const settle = (end: BodyEnd): void => {
      cancel();
      for (const [event, listener] of Object.entries(listeners))
        req.removeListener(event, listener);
      if (end !== 'whole') req.pause();
      else watcher.end();
      resolve(end);
    };
    const listeners = {
      data: (chunk: unknown) => {
        const bytes = bytesOf(chunk, req.readableEncoding);
        length += bytes.length;
        if (length > maxBytes) settle('too-large');
        else watcher.chunk(bytes);
      },
      end: () => settle('whole'),
      close: () => settle('unknown'),
      error: () => settle('unknown'),
    };
    const cancel = after(timeoutMs, () => settle('late'));
    for (const [event, listener] of Object.entries(listeners)) req.on(event, listener as Listener);
  });
}

/** Whether the head says that no body follows. */
function hasNoBody({ headers, stream }: NodeBody): boolean {
  if (stream?.endAfterHeaders !== undefined) return stream.endAfterHeaders;
  if (headers['transfer-encoding'] !== undefined) return false;
  return headers['content-length'] === undefined || headers['content-length'] === '0';
}

/** The bytes of what a stream was given or gives: text in some encoding, or bytes. */
export function bytesOf(chunk: unknown, encoding?: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  const text = String(chunk);
  const { Buffer: host } = globalThis as NodeGlobals;
  if (host && typeof encoding === 'string') return host.from(text, encoding);
  return new TextEncoder().encode(text);
}
