/** The exchange of Fastify: fields and refusals go through the reply, so that onSend and onResponse hooks see them. */

import { isLater } from '@spillway/core/adapter';
import { NodeExchange } from '@spillway/core/node';
import type { FastifyReply } from 'fastify';
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

  /** Lets the app answer a refusal, if it wants to; what it returns is sent, as of a handler. */
  answer(report: (fault: unknown) => void): Promise<void> | undefined {
    const { onRejected, reply } = this;
    if (!onRejected) return undefined;
    this.watchSend();
    return this.answerWith((admission) => {
      const own = onRejected(admission, reply.request, reply);
      // A reply is a promise of its own end.
      return own !== reply && isLater(own) ? own.then(this.sendReply) : this.sendReply(own);
    }, report);
  }

  /** Also while hooks still work on what is sent, or the first byte of a stream has not come. */
  override isAnswered(): boolean {
    return this.isSending || super.isAnswered();
  }

  override sendRejection(): void {
    const { refusal, reply } = this;
    if (!reply.sent || !refusal) {
      super.sendRejection();
      return;
    }
    // Taken over by `reply.hijack()`, and then forgotten: the reply sends nothing any more.
    this.copyHeaders();
    const exchange = new NodeExchange(reply.request.raw, reply.raw, true);
    exchange.reject(refusal);
    exchange.sendRejection();
  }

  protected override parsedBody(): unknown {
    return this.reply.request.body;
  }

  protected override setStatus(status: number): void {
    if (!this.isTaken()) this.reply.code(status);
  }

  protected override end(body: string): void {
    // With a serializer of its own, or Fastify would add a charset to the type: problem documents have none.
    if (!this.isTaken()) this.reply.serializer(asItIs).send(body);
    // A hook before has begun the response by hand: Fastify's reply can send nothing any more.
    else if (!this.reply.sent) super.end(body);
  }

  /** Past the hooks of the app: what was kept has been through them. */
  protected override endWith(body: Uint8Array): void {
    const { reply, res } = this;
    if (reply.sent) return;
    if (!res.headersSent) this.copyHeaders();
    reply.hijack();
    super.endWith(body);
  }

  /** Fastify does not tell whether an answer is on its way. */
  private watchSend(): void {
    const { reply } = this;
    const { send } = reply;
    reply.send = (payload) => {
      this.isSending = true;
      return send.call(reply, payload);
    };
  }

  private readonly sendReply = (own: unknown): void => {
    const { reply } = this;
    if (own !== undefined && own !== reply && !reply.sent) reply.send(own);
  };

  /** To Node's response, which is sent without the reply. */
  private copyHeaders(): void {
    const { raw } = this.reply;
    for (const [name, value] of Object.entries(this.reply.getHeaders())) {
      if (value !== undefined) raw.setHeader(name, value);
    }
  }

  /** Whether the reply cannot say any more what is sent: its head was, or somebody has taken the response over. */
  private isTaken(): boolean {
    return this.reply.sent || this.res.headersSent;
  }
}

function asItIs(body: unknown): string {
  return body as string;
}
