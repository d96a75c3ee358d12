import type { OnClosed } from '../passage/exchange.js';
import type { NodeTarget } from './target.js';

interface Emitter {
  once(event: 'close', listener: () => void): unknown;
}

/** The part of node:http's `IncomingMessage` that we use. */
export interface NodeRequest extends NodeTarget {
  readonly socket: Emitter & { readonly destroyed: boolean };
}

/** The part of node:http's `ServerResponse` that we use. */
export interface NodeResponse {
  on(event: 'finish' | 'close', listener: () => void): unknown;
  statusCode: number;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly closed: boolean;
  readonly destroyed: boolean;
  readonly socket: unknown;
  /** Present only on HTTP/2. */
  readonly stream?: { readonly aborted: boolean };
  getHeader(name: string): unknown;
  setHeader(name: string, value: string | number): unknown;
  end(body?: string | Uint8Array): unknown;
}

export function isGone(req: NodeRequest, res: NodeResponse): boolean {
  return res.closed || res.destroyed || req.socket.destroyed;
}

/**
 * Calls back once when the response has closed for any reason, or immediately if it has closed already. A response
 * without a connection (Lambda adapters, tests of handlers) never closes, so `closed` is called when it has finished.
 */
export function onceClosed(req: NodeRequest, res: NodeResponse, closed: OnClosed): void {
  const { [WATCHERS]: watchers } = res as Watched;
  if (isGone(req, res)) notifyWatchers([closed], res, !res.writableFinished);
  else if (res.writableEnded && !closes(res)) notifyWatchers([closed], res, false);
  else if (watchers) watchers.push(closed);
  else watchResponseEnd(req, res, [closed]);
}

const WATCHERS = Symbol('spillway.watchers');

/**
 * All callbacks of a response share one pair of listeners. GraphQL can cause many callbacks, and Node warns of more
 * than 10 listeners.
 */
type Watched = NodeResponse & { [WATCHERS]?: OnClosed[] | undefined };

function watchResponseEnd(req: NodeRequest, res: Watched, watchers: OnClosed[]): void {
  res[WATCHERS] = watchers;
  let isOver = false;
  const onEnd = (aborted: boolean): void => {
    if (isOver) return;
    isOver = true;
    res[WATCHERS] = undefined;
    notifyWatchers(watchers, res, aborted);
  };
  const onClose = (): void => onEnd(!res.writableFinished);
  // Only the first event counts. On a connection, `close` follows `finish` immediately. On HTTP/2, both events come
  // when the stream has closed, even if it was reset.
  res.on('finish', () => onEnd(res.stream?.aborted === true));
  res.on('close', onClose);
  // A pipelined response that waits for its turn gets no event when the connection closes.
  if (res.socket === null) {
    const forget = onSocketClosed(req.socket, onClose);
    res.on('close', forget);
  }
}

function notifyWatchers(watchers: readonly OnClosed[], res: NodeResponse, aborted: boolean): void {
  // Before the head is sent, the status may be only Node's default.
  const outcome = res.headersSent ? { status: res.statusCode, aborted } : { aborted };
  for (const closed of watchers) closed(outcome);
}

function closes({ socket }: NodeResponse): boolean {
  return (
    socket === null ||
    typeof (socket as { destroyed?: unknown } | undefined)?.destroyed === 'boolean'
  );
}

const WAITING = Symbol('spillway.waiting');

/**
 * Returns a function that cancels the callback. All callbacks of a socket share one listener, because Node warns of
 * more than 10 listeners.
 */
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
