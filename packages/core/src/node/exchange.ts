/** The exchange of node:http, and of the frameworks above it. */

import type { Admission } from '../contract/admission.js';
import type { Recorder, Recorders, StoredResponse } from '../contract/recorder.js';
import { PROBLEM_TYPE } from '../http/problem.js';
import type { Exchange, OnClosed } from '../passage/exchange.js';
import { OwnAnswer, type RejectedResponse } from '../passage/own-answer.js';
import { isGone, type NodeRequest, type NodeResponse, onceClosed } from './closed.js';
import { ignoreLateAnswer } from './late-answer.js';
import { targetOf } from './target.js';

/** A request of node:http and its response. Adapters refine `end`, by which a refusal is sent. */
export class NodeExchange implements Exchange, RejectedResponse {
  /** What was refused, once the gate has said `refused`. */
  refusal: Admission | undefined;
  protected readonly res: NodeResponse;
  protected readonly req: NodeRequest;
  private readonly isOwn: boolean;

  /** @param isOwn whether the app answers refusals itself, by `answerWith`; then `reject` sets only the status */
  constructor(req: NodeRequest, res: NodeResponse, isOwn: boolean) {
    this.req = req;
    this.res = res;
    this.isOwn = isOwn;
    this.refusal = undefined;
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
    this.refusal = admission;
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
   * Runs the app's own answer to the refusal. If it has not begun to answer within 10 s, or 1 s after its promise has
   * settled, or calls `next()`, the default rejection is sent. Gives a promise only if the answer is one.
   *
   * @param answer is given `next`, for frameworks that hand one to the app: call its `wentOn` or `failed`
   * @param report takes what the app did wrong: `report` of the gate
   * @throws what the answer throws; then the status is 500 and not that of a refusal. A promise rejects with it
   */
  answerWith(
    answer: (refusal: Admission, next: Pick<OwnAnswer, 'wentOn' | 'failed'>) => unknown,
    report: (fault: unknown) => void,
  ): Promise<void> | undefined {
    const own = new OwnAnswer(this, report);
    return own.run(() => answer(this.refusal as Admission, own));
  }

  isAnswered(): boolean {
    return this.res.headersSent || this.res.writableEnded;
  }

  canAnswerLater(): boolean {
    return true;
  }

  sendRejection(): void {
    this.dropBodyFields();
    this.sendProblem(this.refusal as Admission);
    ignoreLateAnswer(this.res);
  }

  markFailed(): void {
    this.setStatus(500);
  }

  whenClosed(callback: () => void): void {
    onceClosed(this.req, this.res, () => {
      callback();
      return undefined;
    });
  }

  /** The request's target as it was sent. Override it together with that of `NodeLimitRequest`. */
  protected get target(): string {
    return targetOf(this.req);
  }

  /** What a parser before the guard has made of the body: `req.body`, unless the framework keeps it elsewhere. */
  protected parsedBody(): unknown {
    return (this.req as { readonly body?: unknown }).body;
  }

  /** Sets the status, unless the head was sent. */
  protected setStatus(status: number): void {
    if (!this.res.headersSent) this.res.statusCode = status;
  }

  /** Ends the response with the body of a refusal: its own texts and names, which are ASCII. */
  protected end(body: string): void {
    endWithBody(this.res, body);
  }

  /** Ends the response with the bytes of an answer that was kept. */
  protected endWith(body: Uint8Array): void {
    endWithBody(this.res, body);
  }

  /** Of an answer that was begun, and is not sent. */
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

/** Whether a response of this status has no body, and tells no length of one. */
/** @param body of as many bytes as its length */
function endWithBody(res: NodeResponse, body: string | Uint8Array): void {
  if (res.writableEnded) return;
  if (res.headersSent || isBodiless(res.statusCode)) {
    res.end();
    return;
  }
  res.setHeader('Content-Length', body.length);
  res.end(body); // Node leaves the body out for HEAD
}

function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}
