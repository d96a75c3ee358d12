/**
 * The exchange where @hono/node-server is below: on the response of node:http, which costs half as much as Hono's own
 * and tells when it has closed.
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

  /** The exchange, if a request has a response of node:http: `c.env` is what @hono/node-server says. */
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
    const refusal = this.refusal as Admission;
    if (!onRejected) return this.problem(refusal);
    const own = await ownAnswer(onRejected, refusal, this.c, report, (callback) =>
      this.whenClosed(callback),
    );
    return own ?? this.problem(refusal);
  }

  /** Shows the response as Hono has it: before middleware in front of the guard changes it, as compression does. */
  private async watched(next: Next, shown: ShownResponse): Promise<void> {
    const { c } = this;
    await next();
    // What a handler has written to Node's response by itself cannot be seen here.
    if (!c.finalized || c.res.headers.has('x-hono-already-sent')) return;
    const { response, kept } = shown.see(c.res, c.req.method !== 'HEAD');
    replaceResponse(c, response);
    await kept;
  }

  private problem({ body, status }: Admission): Response {
    const { c, res } = this;
    // Hono answers HEAD as if it were GET, and throws the body away with its length.
    if (c.req.method === 'HEAD') res.setHeader('Content-Length', body.length);
    // Hono must know this field, or it would send its own. All others are on the response, after those of other guards.
    return c.body(body, status as ContentfulStatusCode, { 'Content-Type': PROBLEM_TYPE });
  }
}
