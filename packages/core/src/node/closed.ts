/** When a response of node:http is over: its client is gone, it has closed, or it has finished without a connection. */

import type { OnClosed } from '../passage/exchange.js';

interface Emitter {
  once(event: 'close', listener: () => void): unknown;
}

/** What is needed of node:http's `IncomingMessage`. */
export interface NodeRequest {
  readonly socket: Emitter & { readonly destroyed: boolean };
}

/** What is needed of node:http's `ServerResponse`. */
export interface NodeResponse {
  on(event: 'finish' | 'close', listener: () => void): unknown;
  statusCode: number;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly closed: boolean;
  readonly destroyed: boolean;
  readonly socket: unknown;
  /** Of HTTP/2. */
  readonly stream?: { readonly aborted: boolean };
  getHeader(name: string): unknown;
  setHeader(name: string, value: string | number): unknown;
  end(body?: string): unknown;
}

/** Whether nobody waits for the response any more. */
export function isGone(req: NodeRequest, res: NodeResponse): boolean {
  return res.closed || res.destroyed || req.socket.destroyed;
}

/**
 * Calls back once when the response has closed, in whatever way, or at once if it has. Where no connection carries the
 * response (Lambda adapters, tests of handlers), nothing closes: there it calls back when the response has finished.
 */
export function onceClosed(req: NodeRequest, res: NodeResponse, closed: OnClosed): void {
  let isOver = false;
  const end = (aborted: boolean): void => {
    if (isOver) return;
    isOver = true;
    // Until the head was sent, the status is only Node's default.
    closed(res.headersSent ? { status: res.statusCode, aborted } : { aborted });
  };
  const close = (): void => end(!res.writableFinished);
  if (isGone(req, res)) {
    close();
    return;
  }
  if (res.writableEnded && !closes(res)) {
    end(false);
    return;
  }
  // The first of the two counts. On a connection `close` follows `finish` at once; on HTTP/2 both come when the stream
  // has closed, also when it was reset.
  res.on('finish', () => end(res.stream?.aborted === true));
  res.on('close', close);
  // A response that waits behind another of its connection (pipelining) is not told when that connection closes.
  if (res.socket === null) {
    const forget = onSocketClosed(req.socket, close);
    res.on('close', forget);
  }
}

/** Whether `close` is still to come for a response that has ended: there is a connection, or was one. */
function closes({ socket }: NodeResponse): boolean {
  return (
    socket === null ||
    typeof (socket as { destroyed?: unknown } | undefined)?.destroyed === 'boolean'
  );
}

const WAITING = Symbol('spillway.waiting');

/** Calls back when a socket closes, by one listener for all: clients choose how many wait. Returns how to call it off. */
function onSocketClosed(
  socket: NodeRequest['socket'] & { [WAITING]?: Set<() => void> },
  callback: () => void,
): () => void {
  let waiting = socket[WAITING];
  if (!waiting) {
    const callbacks = new Set<() => void>();
    waiting = callbacks;
    socket[WAITING] = callbacks;
    socket.once('close', () => {
      for (const call of callbacks) call();
    });
  }
  waiting.add(callback);
  return () => void waiting.delete(callback);
}
