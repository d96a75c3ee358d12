/** Answers through the reply, so that onSend and onResponse hooks see the headers. */

import {
  isLater,
  type Recorder,
  type Recorders,
  type ResponseWatcher,
} from '@spillway/core/adapter';
import { NodeExchange } from '@spillway/core/node';
import type { FastifyReply } from 'fastify';
import { onReturn } from './handler-return.js';
import type { SpillwayOptions } from './plugin-options.js';

export class FastifyExchange extends NodeExchange {
  private readonly reply: FastifyReply;
  private readonly onRejected: SpillwayOptions['onRejected'];
  private isSending = false;

  constructor(reply: FastifyReply, onRejected: SpillwayOptions['onRejected']) {
    super(reply.request.raw, reply.raw, onRejected !== undefined);
    this.reply = reply;
    this.onRejected = onRejected;
  }

  override getHeader(name: string): unknown {
    return this.reply.getHeader(name);
  }

  override setHeader(name: string, value: string): void {
    if (!this.isTaken()) this.reply.header(name, value);
  }

  /** Sends the return value of `onRejected`, like a handler's. */
  answer(report: (fault: unknown) => void): Promise<void> | undefined {
    const { onRejected, reply } = this;
    if (!onRejected) return undefined;
    this.watchSend();
    return this.answerWith((admission) => {
      const own = onRejected(admission, reply.request, reply);
      // A returned reply is not awaited, because it is a thenable that resolves only when it has been sent.
      return own !== reply && isLater(own) ? own.then(this.sendReply) : this.sendReply(own);
    }, report);
  }

  /** True once `reply.send` was called, even if onSend hooks still run or a stream has no bytes yet. */
  override isAnswered(): boolean {
    return this.isSending || super.isAnswered();
  }

  override sendRejection(): void {
    const { rejection, reply } = this;
    if (!reply.sent || !rejection) {
      super.sendRejection();
      return;
    }
    // `onRejected` called `reply.hijack()` but never answered. The reply can't send any more, but Node's response can.
    this.copyHeaders();
    const exchange = new NodeExchange(reply.request.raw, reply.raw, true);
    exchange.reject(rejection);
    exchange.sendRejection();
  }

  override recorder({ node }: Recorders): Recorder {
    const { req, res, reply } = this;
    const recorder = node(req, res, this.target, () => this.parsedBody(), reply);
    const watch = recorder.watchResponse.bind(recorder);
    recorder.watchResponse = (watcher) => {
      watch(watcher);
      this.watchReturn(watcher);
    };
    return recorder;
  }

  protected override parsedBody(): unknown {
    return this.reply.request.body;
  }

  protected override setStatus(status: number): void {
    if (!this.isTaken()) this.reply.code(status);
  }

  protected override end(body: string): void {
    // Without this serializer, Fastify would add a charset to Content-Type, which problem documents don't have.
    if (!this.isTaken()) this.reply.serializer(asItIs).send(body);
    // An earlier hook has written the head to Node's response, so Fastify's reply can't send any more.
    else if (!this.reply.sent) super.end(body);
  }

  /** Sends a stored response without the app's hooks, which already ran on it. */
  protected override endWith(body: Uint8Array): void {
    const { reply, res } = this;
    if (reply.sent) return;
    if (!res.headersSent) this.copyHeaders();
    reply.hijack();
    super.endWith(body);
  }

  /** Records calls of `reply.send`. Fastify doesn't show that an answer is coming until the head is written. */
  private watchSend(): void {
    const { reply } = this;
    const { send } = reply;
    reply.send = (payload) => {
      this.isSending = true;
      return send.call(reply, payload);
    };
  }

  /** If the client is gone, Fastify sends nothing for a handler that returns nothing: what it has done is unknown. */
  private watchReturn(watcher: ResponseWatcher): void {
    const { reply } = this;
    const { then } = reply;
    let isAwaited = false;
    // A handler may return the reply, and send a response later. Then Fastify awaits the end of the response.
    const noteAwait: typeof then = (...args) => {
      isAwaited = true;
      then.apply(reply, args);
    };
    Object.defineProperty(reply, 'then', { value: noteAwait, configurable: true });
    this.watchSend();
    onReturn(reply, () => {
      if (this.isAnswered() || isAwaited) return;
      this.whenClosed(() => {
        watcher.head(reply.statusCode, (name) => reply.getHeader(name)?.toString());
        watcher.fail();
      });
    });
  }

  private readonly sendReply = (own: unknown): void => {
    const { reply } = this;
    if (own !== undefined && own !== reply && !reply.sent) reply.send(own);
  };

  private copyHeaders(): void {
    const { raw } = this.reply;
    for (const [name, value] of Object.entries(this.reply.getHeaders())) {
      if (value !== undefined) raw.setHeader(name, value);
    }
  }

  private isTaken(): boolean {
    return this.reply.sent || this.res.headersSent;
  }
}

function asItIs(body: unknown): string {
  return body as string;
}
