import type { Admission } from '@spillway/core';
import type { Exchange, OnClosed, Recorder, Recorders } from '@spillway/core/adapter';
import { NodeExchange } from '@spillway/core/node';
import {
  DROP,
  type FastifyReply,
  isFastify,
  nodeRequest,
  nodeResponse,
  type PlatformRequest,
  type PlatformResponse,
} from './call.js';

const encoder = new TextEncoder();

/** After Nest has dropped a handler, and its client has left, a response that comes later is not recorded. */
const LAST_ANSWER_MS = 1_000;

export class HttpExchange extends NodeExchange {
  /** A rejection that the gate must throw. */
  unanswered: Admission | undefined;
  private readonly request: PlatformRequest;
  private readonly response: PlatformResponse;
  private readonly fastify: FastifyReply | undefined;
  private readonly ownsResponse: boolean;
  private readonly answers: boolean;

  /** @param answers whether to answer a rejection here; if not, the rejection becomes `unanswered` */
  constructor(
    request: PlatformRequest,
    response: PlatformResponse,
    ownsResponse: boolean,
    answers: boolean,
  ) {
    super(nodeRequest(request), nodeResponse(response), false);
    this.request = request;
    this.response = response;
    this.fastify = isFastify(response) ? response : undefined;
    this.ownsResponse = ownsResponse;
    this.answers = answers;
  }

  override getHeader(name: string): unknown {
    return this.ownsResponse ? this.response.getHeader(name) : fieldBefore(this.response, name);
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

  override recorder({ node }: Recorders): Recorder {
    const { req, res, fastify } = this;
    const recorder = node(req, res, this.target, () => this.parsedBody(), fastify);
    const watch = recorder.watchResponse.bind(recorder);
    recorder.watchResponse = (watcher) => {
      watch(watcher);
      // Not now: an interceptor that took only the first value may still send a response.
      this.request[DROP] = () =>
        this.whenClosed(() => {
          if (!res.writableFinished) setTimeout(() => watcher.fail(), LAST_ANSWER_MS);
        });
    };
    return recorder;
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
    // Fastify's hooks add headers such as CORS headers. The body is sent as bytes, because Fastify adds a charset to
    // strings.
    else fastify.send(encoder.encode(body));
  }

  protected override endWith(body: Uint8Array): void {
    const { fastify } = this;
    if (fastify?.sent) return;
    if (fastify && !fastify.raw.headersSent) {
      for (const [name, value] of Object.entries(fastify.getHeaders())) {
        if (value !== undefined) this.res.setHeader(name, value as string);
      }
      fastify.hijack(); // bypasses the app's hooks, which have already processed the stored response
    }
    super.endWith(body);
  }
}

/** The exchange of a call without an HTTP response. The code that sees the call end must call `releasePermits`. */
export class MessageExchange implements Exchange {
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

  releasePermits(): boolean {
    this.isClosed = true;
    this.closed?.({});
    return this.closed !== undefined;
  }
}

const BEFORE = Symbol('spillway.fields-before');

/**
 * Returns the value that a header had before any call set it. So each call that shares the response replaces the header
 * of the previous call, instead of appending to it.
 */
function fieldBefore(response: PlatformResponse, name: string): unknown {
  const holder = response as PlatformResponse & { [BEFORE]?: Map<string, unknown> };
  holder[BEFORE] ??= new Map();
  const before = holder[BEFORE];
  if (!before.has(name)) before.set(name, response.getHeader(name));
  return before.get(name);
}
