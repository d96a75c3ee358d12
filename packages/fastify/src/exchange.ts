/** The exchange of Fastify: fields and refusals go through the reply, so that onSend and onResponse hooks see them. */

import { NodeExchange } from '@spillway/core/node';
import type { FastifyReply } from 'fastify';
import type { SpillwayOptions } from './options.js';

export class FastifyExchange extends NodeExchange {
  private readonly reply: FastifyReply;
  private readonly onRefused: SpillwayOptions['onRefused'];

  constructor(reply: FastifyReply, onRefused: SpillwayOptions['onRefused']) {
    super(reply.request.raw, reply.raw, onRefused !== undefined);
    this.reply = reply;
    this.onRefused = onRefused;
  }

  override getField(name: string): unknown {
    return this.reply.getHeader(name);
  }

  override setField(name: string, value: string): void {
    if (!this.isTaken()) this.reply.header(name, value);
  }

  /** Lets the app answer a refusal, if it wants to; what it returns is sent, as of a handler. */
  answer(): Promise<unknown> | undefined {
    const { onRefused, reply } = this;
    if (!onRefused) return undefined;
    return this.answerWith(async (admission) => {
      const own = await onRefused(admission, reply.request, reply);
      if (own !== undefined) reply.send(own);
    });
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
    if (!res.headersSent) {
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
    }
    reply.hijack();
    super.endWith(body);
  }

  /** Whether the reply cannot say any more what is sent: its head was, or somebody has taken the response over. */
  private isTaken(): boolean {
    return this.reply.sent || this.res.headersSent;
  }
}

function asItIs(body: unknown): string {
  return body as string;
}
