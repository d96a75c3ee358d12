import type { Admission } from '../contract/admission.js';
import type { Recorder, Recorders, StoredResponse } from '../contract/recorder.js';
import type { LimitRequest } from '../contract/request.js';
import { PROBLEM_TYPE } from '../http/problem.js';
import { type Addressing, clientOf } from '../net/client.js';
import { pathOf } from '../net/target.js';
import type { Exchange, OnClosed } from '../passage/gate.js';
import { OwnAnswer, type RejectedResponse } from '../passage/own-answer.js';

interface NodeTarget {
  readonly url?: string | undefined;
  /** The target as sent, stored by Express and Fastify before they rewrite `url`. */
  readonly originalUrl?: string | undefined;
}

function targetOf({ originalUrl, url = '/' }: NodeTarget): string {
  return originalUrl ?? url;
}

/**
 * A node:http request and its response. If the framework sends responses through its own object, the adapter overrides
 * `end`, which sends rejections, and `endWith`, which sends replays.
 */
export class NodeExchange implements Exchange, RejectedResponse {
  rejection: Admission | undefined;
  protected readonly res: NodeResponse;
  protected readonly req: NodeRequest;
  private readonly isOwn: boolean;

  /** @param isOwn whether the app answers rejections, through `answerWith`; `reject` then only sets the status */
  constructor(req: NodeRequest, res: NodeResponse, isOwn: boolean) {
    this.req = req;
    this.res = res;
    this.isOwn = isOwn;
  }

  isGone(): boolean {
    return isGone(this.req, this.res);
  }

  onClosed(closed: OnClosed): void {
    onceClosed(this.req, this.res, closed);
  }

  getHeader(name: string): unknown {
    return this.res.getHeader(name);
  }

  setHeader(name: string, value: string): void {
    if (!this.res.headersSent) this.res.setHeader(name, value);
  }

  reject(admission: Admission): void {
    this.rejection = admission;
    if (this.isOwn) this.setStatus(admission.status);
    else this.sendProblem(admission);
  }

  recorder(recorders: Recorders): Recorder {
    return recorders.node(this.req, this.res, this.target, () => this.parsedBody());
  }

  replay({ status, headers, body }: StoredResponse): void {
    this.setStatus(status);
    for (const [name, value] of headers) this.setHeader(name, value);
    this.endWith(body);
  }

  /**
   * Runs the app's custom response to the rejection. The default rejection is sent if the app calls `next()`, doesn't
   * begin to respond within 10 s, or doesn't begin within 1 s after its promise settles. Returns a promise only if
   * `answer` does.
   *
   * @param answer receives the admission and `next`. If the framework passes a function `next` to the app, that
   * function must call `wentOn` or `failed`
   * @param report receives the app's mistakes: pass `report` of the gate
   * @throws any error of `answer`, with status 500; a returned promise rejects with it
   */
  answerWith(
    answer: (refusal: Admission, next: Pick<OwnAnswer, 'wentOn' | 'failed'>) => unknown,
    report: (fault: unknown) => void,
  ): Promise<void> | undefined {
    const own = new OwnAnswer(this, report);
    return own.run(() => answer(this.rejection as Admission, own));
  }

  isAnswered(): boolean {
    return this.res.headersSent || this.res.writableEnded;
  }

  canAnswerLater(): boolean {
    return true;
  }

  sendRejection(): void {
    this.dropBodyFields();
    this.sendProblem(this.rejection as Admission);
    ignoreLateAnswer(this.res);
  }

  markFailed(): void {
    this.setStatus(500);
  }

  whenClosed(callback: () => void): void {
    onceClosed(this.req, this.res, callback as OnClosed); // nothing waits for what it returns
  }

  /** The request target as sent. If you override it, also override `target` of `NodeLimitRequest`. */
  protected get target(): string {
    return targetOf(this.req);
  }

  /** The body as parsed by middleware before the guard: `req.body`, unless the framework stores it elsewhere. */
  protected parsedBody(): unknown {
    return (this.req as { readonly body?: unknown }).body;
  }

  protected setStatus(status: number): void {
    if (!this.res.headersSent) this.res.statusCode = status;
  }

  /** Ends the response with the body of a rejection, which is ASCII. */
  protected end(body: string): void {
    endWithBody(this.res, body);
  }

  /** Ends the response with the body of a replay. */
  protected endWith(body: Uint8Array): void {
    endWithBody(this.res, body);
  }

  private dropBodyFields(): void {
    const res = this.res as Partial<{ removeHeader(name: string): void }>;
    if (this.res.headersSent) return;
    for (const name of ['Content-Encoding', 'Transfer-Encoding']) res.removeHeader?.(name);
  }

  protected sendProblem({ status, body }: Admission): void {
    this.setStatus(status);
    this.setHeader('Content-Type', PROBLEM_TYPE);
    this.end(body);
  }
}

/** @param body bytes, or ASCII text, whose length is also its number of bytes */
function endWithBody(res: NodeResponse, body: string | Uint8Array): void {
  if (res.writableEnded) return;
  if (res.headersSent || isBodiless(res.statusCode)) {
    res.end();
    return;
  }
  res.setHeader('Content-Length', body.length);
  res.end(body); // Node omits the body for HEAD
}

function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}

/** The part of node:http's `IncomingMessage` that limiters read. */
export interface NodeHead extends NodeTarget {
  readonly method?: string | undefined;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** The part of node:http's `IncomingMessage` that guards need. */
export interface NodeIncoming extends NodeHead, NodeRequest {
  readonly socket: NodeRequest['socket'] & NodeHead['socket'];
}

/**
 * A framework-neutral view of a node:http request. Adapters pass their framework's request as `raw`, and node:http's as
 * `incoming`.
 */
export class NodeLimitRequest<Raw> implements LimitRequest<Raw> {
  private address: string | undefined;
  private addressKnown = false;
  readonly raw: Raw;
  private readonly incoming: NodeHead;
  private readonly addressing: Addressing;

  constructor(raw: Raw, incoming: NodeHead, addressing: Addressing) {
    this.raw = raw;
    this.incoming = incoming;
    this.addressing = addressing;
  }

  get method(): string {
    return (this.incoming.method ?? 'GET').toUpperCase();
  }

  get path(): string {
    return pathOf(this.target);
  }

  get route(): string | undefined {
    return undefined;
  }

  get clientIp(): string | undefined {
    if (!this.addressKnown) {
      this.addressKnown = true;
      this.address = this.findAddress();
    }
    return this.address;
  }

  peekAddress(): string | undefined {
    if (this.addressKnown) return this.address;
    const quiet = { ...this.addressing, watch: undefined };
    return clientOf(quiet, this.incoming.socket.remoteAddress, this);
  }

  header(name: string): string | undefined {
    const value = this.incoming.headers[name.toLowerCase()];
    if (typeof value === 'string') return value;
    return Array.isArray(value) ? value.join(', ') : undefined;
  }

  /** The request target as sent. If you override it, also override `target` of `NodeExchange`. */
  protected get target(): string {
    return targetOf(this.incoming);
  }

  protected findAddress(): string | undefined {
    return clientOf(this.addressing, this.incoming.socket.remoteAddress, this);
  }
}

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

/** All callbacks of a response share two listeners: GraphQL adds many, and Node warns of more than 10. */
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

/** All callbacks of a socket share one listener: Node warns of more than 10. Returns a function that cancels. */
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

type Method = (...args: unknown[]) => unknown;

const OF_HEAD = ['setHeader', 'setHeaders', 'appendHeader', 'removeHeader', 'writeHead'];

/**
 * Makes a response ignore changes of its head after the head was sent, and calls of `write` and `end` after the end.
 * Otherwise, Node would throw "headers already sent" in the app's callback, where nothing catches the error, and the
 * process would exit.
 */
function ignoreLateAnswer(res: NodeResponse): void {
  const methods = res as unknown as Record<string, Method | undefined>;
  const ignore = (names: readonly string[], isLate: () => boolean, result: unknown): void => {
    for (const name of names) {
      const method = methods[name];
      if (!method) continue;
      methods[name] = (...args) => (isLate() ? result : method.apply(res, args));
    }
  };
  ignore(OF_HEAD, () => res.headersSent, res);
  ignore(['write'], () => res.writableEnded, true); // `false` would make a stream wait forever for `drain`
  ignore(['end'], () => res.writableEnded, res);
}
