/**
 * The exchange where @hono/node-server is below: on the response of node:http, which costs half as much as Hono's own and
 * tells when it has closed.
 */

import type { Admission } from '@spillway/core';
import { PROBLEM_TYPE } from '@spillway/core/adapter';
import { NodeExchange, type NodeRequest, type NodeResponse } from '@spillway/core/node';
import type { Context, Next } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { type HonoExchange, type OnRefused, ownAnswer, showDecisions } from './exchange.js';

export class HonoNodeExchange extends NodeExchange implements HonoExchange {
  private readonly c: Context;

  private constructor(c: Context, req: NodeRequest, res: NodeResponse) {
    super(req, res, true);
    this.c = c;
  }

  /** The exchange, if a request has a response of node:http: `c.env` is what @hono/node-server says. */
  static of(c: Context): HonoNodeExchange | undefined {
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

  pass(next: Next): Promise<void> {
    return next();
  }

  async answer(onRefused: OnRefused | undefined): Promise<Response> {
    const refusal = this.refusal as Admission;
    const own = onRefused && (await ownAnswer(onRefused, refusal, this.c));
    return own ?? this.problem(refusal);
  }

  private problem({ body, status }: Admission): Response {
    const { c, res } = this;
    // Hono answers HEAD as if it were GET, and throws the body away with its length.
    if (c.req.method === 'HEAD') res.setHeader('Content-Length', body.length);
    // Hono must know this field, or it would send its own. All others are on the response, after those of other guards.
    return c.body(body, status as ContentfulStatusCode, { 'Content-Type': PROBLEM_TYPE });
  }
}
