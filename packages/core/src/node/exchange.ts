/** The exchange of node:http, and of the frameworks above it. */

import { afterIdly, isThenable } from '../base/host.js';
import type { Admission } from '../contract/admission.js';
import type { KeptAnswer, Recorder } from '../contract/recorder.js';
import { PROBLEM_TYPE } from '../http/problem.js';
import type { Exchange, OnClosed } from '../passage/exchange.js';
import { answerMissing, OWN_ANSWER_MS, type TellMissing } from '../passage/own-answer.js';
import { isGone, type NodeRequest, type NodeResponse, onceClosed } from './closed.js';
import { NodeRecorder } from './recorder.js';
import { targetOf } from './target.js';

/** A request of node:http and its response. Adapters refine `end`, by which a refusal is sent. */
export class NodeExchange implements Exchange {
  /** What was refused, once the gate has said `refused`. */
  refusal: Admission | undefined;
  protected readonly res: NodeResponse;
  protected readonly req: NodeRequest;
  private readonly isOwn: boolean;

  /** @param isOwn whether the app answers refusals itself, by `answerWith`; then `refuse` sets only the status */
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

  getField(name: string): unknown {
    return this.res.getHeader(name);
  }

  setField(name: string, value: string): void {
    if (!this.res.headersSent) this.res.setHeader(name, value);
  }

  refuse(admission: Admission): void {
    this.refusal = admission;
    if (this.isOwn) this.setStatus(admission.status);
    else this.sendProblem(admission);
  }

  recorder(): Recorder {
    return new NodeRecorder(this.req, this.res, this.target, () => this.parsedBody());
  }

  repeat({ status, fields, body }: KeptAnswer): void {
    this.setStatus(status);
    for (const [name, value] of fields) this.setField(name, value);
    this.endWith(body);
  }

  /**
   * Runs the app's own answer to the rejection. If it calls `next`, or nobody has answered after 10 s, the problem
   * document is sent, and `tell` is told. What it throws is thrown, and then the status is 500. Gives a promise only if
   * the answer is one.
   */
  answerWith(answer: OwnAnswer, tell: TellMissing): Promise<unknown> | undefined {
    const refusal = this.refusal as Admission;
    const instead = (why: 'next' | 'late'): void => {
      tell(answerMissing(why));
      if (!this.isAnswered(refusal)) this.sendProblem(refusal);
    };
    try {
      const own = answer(refusal, async () => instead('next'));
      // It may have left the answer to a callback, as of `res.render`.
      if (!this.isAnswered(refusal)) this.afterOwnTime(() => instead('late'), refusal);
      return isThenable(own) ? Promise.resolve(own).catch((error) => this.fail(error)) : undefined;
    } catch (error) {
      return this.fail(error);
    }
  }

  /** Whether somebody has answered a request that was rejected, or has begun to. */
  protected isAnswered(_refusal: Admission): boolean {
    return this.res.headersSent || this.res.writableEnded || this.isGone();
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

  private afterOwnTime(missing: () => void, refusal: Admission): void {
    const cancel = afterIdly(OWN_ANSWER_MS, () => {
      if (!this.isAnswered(refusal)) missing();
    });
    this.onClosed(async () => cancel());
  }

  protected sendProblem({ status, body }: Admission): void {
    this.setStatus(status);
    this.setField('Content-Type', PROBLEM_TYPE);
    this.end(body);
  }

  /** Ends the response with the body of a refusal. */
  protected end(body: string): void {
    const { res } = this;
    if (res.writableEnded) return;
    if (res.headersSent) {
      res.end();
      return;
    }
    // Its own texts and names, which are ASCII: as many bytes as characters.
    res.setHeader('Content-Length', body.length);
    res.end(body); // Node leaves the body out for HEAD
  }

  /** Ends the response with the bytes of an answer that was kept. */
  protected endWith(body: Uint8Array): void {
    const { res } = this;
    if (res.writableEnded) return;
    if (res.headersSent || isBodiless(res.statusCode)) {
      res.end();
      return;
    }
    res.setHeader('Content-Length', body.length);
    res.end(body); // Node leaves the body out for HEAD
  }

  protected fail(error: unknown): never {
    this.setStatus(500);
    throw error;
  }
}

/** An app's own answer to a rejected request; where the framework gives it a `next`, that must be this one. */
export type OwnAnswer = (refusal: Admission, next: () => Promise<void>) => unknown;

/** Whether a response of this status has no body, and tells no length of one. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}
