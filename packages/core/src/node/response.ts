/** What an admission does to a response of node:http: fields, the answer to a refused request, release at its end. */

import { isThenable } from '../base/host.js';
import type { Admission } from '../contract/admission.js';
import { mergeFields } from '../http/fields.js';

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

/** Sets the fields of an admission and, if it is a refusal, the status. A response that has begun is left as it is. */
export function writeHead(admission: Admission, res: NodeResponse, withType = true): void {
  if (res.headersSent) return;
  for (const [name, value] of mergeFields(admission.fields, (field) => res.getHeader(field))) {
    if (withType || name !== 'Content-Type') res.setHeader(name, value);
  }
  if (!admission.allowed) res.statusCode = admission.status;
}

/** Ends the response of a refused request. */
export function endRefused({ body }: Admission, res: NodeResponse): void {
  if (res.writableEnded) return;
  if (res.headersSent) {
    res.end();
    return;
  }
  // Its own texts and names, which are ASCII: as many bytes as characters.
  res.setHeader('Content-Length', body.length);
  res.end(body); // Node leaves the body out for HEAD
}

/**
 * Runs an app's own answer to a refused request. What it throws is thrown, and no status of a refusal stays on a
 * response for
 * that. Gives a promise only if the answer is one.
 */
export function answerOwn(res: NodeResponse, answer: () => unknown): Promise<unknown> | undefined {
  const fail = (error: unknown): never => {
    if (!res.headersSent) res.statusCode = 500;
    throw error;
  };
  try {
    const own = answer();
    return isThenable(own) ? Promise.resolve(own).catch(fail) : undefined;
  } catch (error) {
    return fail(error);
  }
}

/** Whether nobody waits for the response any more. */
export function isGone(req: NodeRequest, res: NodeResponse): boolean {
  return res.closed || res.destroyed || req.socket.destroyed;
}

/**
 * Releases an admission when the response has closed, in whatever way, or at once if it has. Where no connection
 * carries
 * the response (Lambda adapters, tests of handlers), nothing closes: there it is released when the response has
 * finished.
 */
export function releaseOnClose(admission: Admission, req: NodeRequest, res: NodeResponse): void {
  const release = (aborted: boolean): void => {
    // Until the head was sent, the status is only Node's default.
    admission.release(res.headersSent ? { status: res.statusCode, aborted } : { aborted });
  };
  const close = (): void => release(!res.writableFinished);
  if (isGone(req, res)) {
    close();
    return;
  }
  if (res.writableEnded && !closes(res)) {
    release(false);
    return;
  }
  // The first of the two counts. On a connection `close` follows `finish` at once, so that it makes no difference
  // there;
  // on HTTP/2 both come when the stream has closed, also when it was reset.
  res.on('finish', () => release(res.stream?.aborted === true));
  res.on('close', close);
  // A response that waits behind another of its connection (pipelining) is not told when that connection closes.
  if (res.socket === null) {
    const forget = onceClosed(req.socket, close);
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

/**
 * Calls back when a socket closes, by one listener for all: clients choose how many requests wait. Returns how to call
 * it off.
 */
function onceClosed(
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
