/** When a response of node:http is over: its client is gone, it has closed, or it has finished without a connection. */

import type { OnClosed } from '../passage/exchange.js';
import type { NodeTarget } from './target.js';

interface Emitter {
  once(event: 'close', listener: () => void): unknown;
}

/** What is needed of node:http's `IncomingMessage`. */
export interface NodeRequest extends NodeTarget {
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
  end(body?: string | Uint8Array): unknown;
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
  const { [WATCHERS]: watchers } = res as Watched;
  if (isGone(req, res)) tell([closed], res, !res.writableFinished);
  else if (res.writableEnded && !closes(res)) tell([closed], res, false);
  else if (watchers) watchers.push(closed);
  else watch(req, res, [closed]);
}

const WATCHERS = Symbol('spillway.watchers');

/** All who wait for the end of a response: its clients may choose how many, as with GraphQL. */
type Watched = NodeResponse & { [WATCHERS]?: OnClosed[] | undefined };

function watch(req: NodeRequest, res: Watched, watchers: OnClosed[]): void {
  res[WATCHERS] = watchers;
  let isOver = false;
  const end = (aborted: boolean): void => {
    if (isOver) return;
    isOver = true;
    res[WATCHERS] = undefined;
    tell(watchers, res, aborted);
  };
  const close = (): void => end(!res.writableFinished);
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

function tell(watchers: readonly OnClosed[], res: NodeResponse, aborted: boolean): void {
  // Until the head was sent, the status is only Node's default.
  const outcome = res.headersSent ? { status: res.statusCode, aborted } : { aborted };
  for (const closed of watchers) closed(outcome);
}

/** Whether `close` is still to come for a response that has ended: there is a connection, or was one. */
function closes({ socket }: NodeResponse): boolean {
  return (
    socket === null ||
    typeof (socket as { destroyed?: unknown } | undefined)?.destroyed === 'boolean'
  );
}

const WAITING = Symbol('spillway.waiting');

/** Calls back when a socket closes. One listener serves all: clients choose how many wait. Returns how to cancel. */
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
