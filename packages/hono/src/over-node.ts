/**
 * The answer where @hono/node-server is below: on the response of node:http, which costs half as much and tells when it
 * has closed.
 */

import type { Admission } from '@spillway/core';
import {
  isGone,
  type NodeRequest,
  type NodeResponse,
  releaseOnClose,
  writeHead,
} from '@spillway/core/fetch';
import type { Context, Next } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { type OnRefused, ownAnswer, type Reply } from './reply.js';

export class NodeReply implements Reply {
  private readonly c: Context;
  private readonly req: NodeRequest;
  private readonly res: NodeResponse;

  constructor(c: Context, req: NodeRequest, res: NodeResponse) {
    this.c = c;
    this.req = req;
    this.res = res;
  }

  /** The answer, if a request has a response of node:http: `c.env` is what @hono/node-server says. */
  static of(c: Context): NodeReply | undefined {
    const { incoming, outgoing } = (c.env ?? {}) as {
      readonly incoming?: NodeRequest;
      readonly outgoing?: NodeResponse;
    };
    return incoming?.socket && outgoing?.setHeader
      ? new NodeReply(c, incoming, outgoing)
      : undefined;
  }

  isGone(): boolean {
    return isGone(this.req, this.res);
  }

  prepare(admission: Admission): void {
    if (admission.pending) releaseOnClose(admission, this.req, this.res);
    writeHead(admission, this.res, false);
  }

  pass(_admission: Admission, next: Next): Promise<void> {
    return next();
  }

  refuse({ body, status, fields }: Admission): Response {
    const { c, res } = this;
    // Hono answers HEAD as if it were GET, and throws the body away with its length.
    if (c.req.method === 'HEAD') res.setHeader('Content-Length', body.length);
    // The one field that Hono must know: it would send its own. All others are on the response, after those of other
    // guards.
    const type = fields.find(([name]) => name === 'Content-Type')?.[1] ?? '';
    return c.body(body, status as ContentfulStatusCode, { 'Content-Type': type });
  }

  async refuseWith(onRefused: OnRefused, admission: Admission): Promise<Response> {
    return (await ownAnswer(onRefused, admission, this.c)) ?? this.refuse(admission);
  }
}
