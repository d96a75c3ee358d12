/** The exchanges of Nest: HTTP on both platforms, and calls that have no response. */

import type { Admission } from '@spillway/core';
import type { Exchange, OnClosed } from '@spillway/core/adapter';
import { NodeExchange } from '@spillway/core/node';
import {
  type FastifyReply,
  isFastify,
  nodeRequest,
  nodeResponse,
  type PlatformRequest,
  type PlatformResponse,
} from './call.js';

const encoder = new TextEncoder();

/** A request and a response of HTTP; in GraphQL several calls share them. */
export class HttpExchange extends NodeExchange {
  /** A refusal that is to be thrown. */
  unanswered: Admission | undefined;
  private readonly request: PlatformRequest;
  private readonly response: PlatformResponse;
  private readonly fastify: FastifyReply | undefined;
  /** Whether the response is this call's alone. */
  private readonly isAlone: boolean;
  private readonly answers: boolean;

  /** @param answers whether a refusal is answered here; if not, it becomes `unanswered` */
  constructor(
    request: PlatformRequest,
    response: PlatformResponse,
    isAlone: boolean,
    answers: boolean,
  ) {
    super(nodeRequest(request), nodeResponse(response), false);
    this.request = request;
    this.response = response;
    this.fastify = isFastify(response) ? response : undefined;
    this.isAlone = isAlone;
    this.answers = answers;
  }

  override getHeader(name: string): unknown {
    return this.isAlone ? this.response.getHeader(name) : fieldBefore(this.response, name);
  }

  override setHeader(name: string, value: string): void {
    const { fastify } = this;
    if (!fastify) super.setHeader(name, value);
    else if (!fastify.sent && !fastify.raw.headersSent) fastify.header(name, value);
  }

  override reject(admission: Admission): void {
    if (this.answers) super.reject(admission);
    else this.unanswered = admission;
  }

  protected override parsedBody(): unknown {
    return this.request.body;
  }

  protected override setStatus(status: number): void {
    const { fastify } = this;
    if (!fastify) super.setStatus(status);
    else if (!fastify.sent && !fastify.raw.headersSent) fastify.code(status);
  }

  protected override end(body: string): void {
    const { fastify } = this;
    if (fastify?.sent) return;
    if (!fastify || fastify.raw.headersSent) super.end(body);
    // Through Fastify, so that its hooks see it (CORS); as bytes, because to a text it would add a charset.
    else fastify.send(encoder.encode(body));
  }

  protected override endWith(body: Uint8Array): void {
    const { fastify } = this;
    if (fastify?.sent) return;
    if (fastify && !fastify.raw.headersSent) {
      for (const [name, value] of Object.entries(fastify.getHeaders())) {
        if (value !== undefined) this.res.setHeader(name, value as string);
      }
      fastify.hijack(); // past the hooks of the app: what was kept has been through them
    }
    super.endWith(body);
  }
}

/** A call without a response: whoever sees its end calls `close`. */
export class MessageExchange implements Exchange {
  /** A refusal that is to be thrown. */
  unanswered: Admission | undefined;
  private isClosed = false;
  private closed: OnClosed | undefined;

  isGone(): boolean {
    return this.isClosed;
  }

  onClosed(closed: OnClosed): void {
    this.closed = closed;
  }

  getHeader(): undefined {
    return undefined;
  }

  setHeader(): void {}

  reject(admission: Admission): void {
    this.unanswered = admission;
  }

  /** Gives back what is held; false if that was nothing. */
  releasePermits(): boolean {
    this.isClosed = true;
    this.closed?.({});
    return this.closed !== undefined;
  }
}

const BEFORE = Symbol('spillway.fields-before');

/** A field as it was before the first call wrote its own: of the calls that share a response, the last one's stay. */
function fieldBefore(response: PlatformResponse, name: string): unknown {
  const holder = response as PlatformResponse & { [BEFORE]?: Map<string, unknown> };
  holder[BEFORE] ??= new Map();
  const before = holder[BEFORE];
  if (!before.has(name)) before.set(name, response.getHeader(name));
  return before.get(name);
}
