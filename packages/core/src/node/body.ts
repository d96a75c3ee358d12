import { after } from '../base/host.js';
import { utf8Bytes } from '../base/utf8.js';
import type { BodyEnd, BodyLimits, BodyWatcher } from '../contract/recorder.js';

/** Runtimes without a global `Buffer` have no stream encoding except UTF-8. */
interface NodeGlobals {
  readonly Buffer?: { from(text: string, encoding: string): Uint8Array };
}

type Listener = (...args: never[]) => void;

export interface NodeBody {
  readonly headers: { readonly [name: string]: unknown };
  readonly readableEncoding?: string | null;
  readonly readableDidRead?: boolean;
  readonly destroyed?: boolean;
  /** Whether the whole body has arrived; on HTTP/2 also true if the stream was reset. */
  readonly complete?: boolean;
  /** True if Node discards the body: the response has ended, and nobody has read any of the body. */
  readonly _dumped?: boolean;
  /** Present only on HTTP/2. */
  readonly stream?: { readonly endAfterHeaders?: boolean };
  emit(event: string, ...args: unknown[]): boolean;
  unshift(...args: unknown[]): unknown;
  on(event: string, listener: Listener): unknown;
  removeListener(event: string, listener: Listener): unknown;
  pause(): unknown;
}

/**
 * Passes the bytes of a body to `watcher` as the handler reads them. Every way of reading (`data`, `pipe`, iteration,
 * `read`) emits `data` for each chunk and then `end`.
 */
export function watchBody(req: NodeBody, watcher: BodyWatcher): void {
  if (hasNoBody(req)) {
    watcher.end();
    return;
  }
  if (req.readableDidRead) return;
  const { emit, unshift } = req;
  let length = 0;
  // The bytes are unknown after `unshift`, which repeats data, and after a decoded text that differs from the bytes
  // sent.
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

function isLossy(chunk: unknown, encoding: unknown): boolean {
  if (typeof chunk !== 'string') return false;
  if (encoding === 'utf8') return chunk.includes('\ufffd');
  return !LOSSLESS.includes(String(encoding));
}

const LOSSLESS = ['latin1', 'hex', 'base64', 'base64url'];

/** Whether the body is as long as `Content-Length` states. On HTTP/2, reset streams emit `end` too. */
function isWhole({ headers }: NodeBody, length: number): boolean {
  const told = headers['content-length'];
  return told === undefined || Number(told) === length;
}

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
    const settleBody = (end: BodyEnd): void => {
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
        if (length > maxBytes) settleBody('too-large');
        else watcher.chunk(bytes);
      },
      end: () => settleBody('whole'),
      close: () => settleBody('unknown'),
      error: () => settleBody('unknown'),
    };
    const cancel = after(timeoutMs, () => settleBody('late'));
    for (const [event, listener] of Object.entries(listeners)) req.on(event, listener as Listener);
  });
}

function hasNoBody({ headers, stream }: NodeBody): boolean {
  if (stream?.endAfterHeaders !== undefined) return stream.endAfterHeaders;
  if (headers['transfer-encoding'] !== undefined) return false;
  return headers['content-length'] === undefined || headers['content-length'] === '0';
}

export function bytesOf(chunk: unknown, encoding?: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  const text = String(chunk);
  const { Buffer: host } = globalThis as NodeGlobals;
  return host && typeof encoding === 'string' ? host.from(text, encoding) : utf8Bytes(text);
}
