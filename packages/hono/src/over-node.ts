/**
 * For @hono/node-server. Uses the response of node:http, which costs half as much as Hono's and emits an event when it
 * closes.
 */

import type { Admission } from '@spillway/core';
import {
  PROBLEM_TYPE,
  type Recorder,
  type Recorders,
  type ShownResponse,
  type StoredResponse,
} from '@spillway/core/adapter';
import { replayedResponse } from '@spillway/core/fetch';
import { NodeExchange, type NodeRequest, type NodeResponse } from '@spillway/core/node';
import type { Context, Next } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import {
  type HonoExchange,
  type OnRejected,
  ownAnswer,
  replaceResponse,
  showDecisions,
} from './hono-exchange.js';
import { withCachedBody } from './hono-recorder.js';

export class HonoNodeExchange extends NodeExchange implements HonoExchange {
  private readonly c: Context;
  private shown: ShownResponse | undefined;
  private repeated: Response | undefined;

  private constructor(c: Context, req: NodeRequest, res: NodeResponse) {
    super(req, res, true);
    this.c = c;
    this.shown = undefined;
    this.repeated = undefined;
  }

  /** Returns undefined unless @hono/node-server has put the request and response of node:http into `c.env`. */
  static forContext(c: Context): HonoNodeExchange | undefined {
    const { incoming, outgoing } = (c.env ?? {}) as {
      readonly incoming?: NodeRequest;
      readonly outgoing?: NodeResponse;
    };
    return incoming?.socket && outgoing?.setHeader
      ? new HonoNodeExchange(c, incoming, outgoing)
      : undefined;
  }

  decided(): void {
    showDecisions(this.c);
  }

  override recorder(recorders: Recorders): Recorder {
    const recorder = withCachedBody(super.recorder(recorders), this.c);
    const ofResponse = recorders.fetch(this.c.req.raw, (answer) => {
      this.shown = answer;
    });
    recorder.watchResponse = (watcher) => ofResponse.watchResponse(watcher);
    return recorder;
  }

  override replay(answer: StoredResponse): void {
    this.repeated = replayedResponse(answer, this.c.req.method) as unknown as Response;
  }

  pass(next: Next): Promise<void> {
    return this.shown ? this.watched(next, this.shown) : next();
  }

  async answer(
    onRejected: OnRejected | undefined,
    report: (fault: unknown) => void,
  ): Promise<Response> {
    if (this.repeated) return this.repeated;
    const refusal = this.rejection as Admission;
    if (!onRejected) return this.problem(refusal);
    const own = await ownAnswer(onRejected, refusal, this.c, report, (callback) =>
      this.whenClosed(callback),
    );
    return own ?? this.problem(refusal);
  }

  /** Records the handlers' response before outer middleware (such as compression) changes it. */
  private async watched(next: Next, shown: ShownResponse): Promise<void> {
    const { c } = this;
    try {
      await next();
    } catch (error) {
      this.whenClosed(() => shown.fail());
      throw error;
    }
    // A handler that writes to Node's response directly bypasses `c.res`. If the client leaves, nothing tells of an end
    // but the response that closes.
    if (!c.finalized || c.res.headers.has('x-hono-already-sent')) {
      this.whenClosed(() => shown.fail());
      return;
    }
    const { response, kept } = shown.see(c.res, c.req.method !== 'HEAD');
    replaceResponse(c, response);
    await kept;
  }

  private problem({ body, status }: Admission): Response {
    const { c, res } = this;
    // For HEAD, Hono would drop the body of the GET response and, with it, its length.
    if (c.req.method === 'HEAD') res.setHeader('Content-Length', body.length);
    // Without this header, Hono would set a different Content-Type. All other headers are already on Node's response.
    return c.body(body, status as ContentfulStatusCode, { 'Content-Type': PROBLEM_TYPE });
  }
}
