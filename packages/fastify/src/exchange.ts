/** The exchange of Fastify: fields and refusals go through the reply, so that onSend and onResponse hooks see them. */

import { NodeExchange } from '@spillway/core/node';
import type { FastifyReply, FastifyRequest } from 'fastify';

export class FastifyExchange extends NodeExchange {
  private readonly reply: FastifyReply;

  constructor(request: FastifyRequest, reply: FastifyReply, isOwn: boolean) {
    super(request.raw, reply.raw, isOwn);
    this.reply = reply;
  }

  override getField(name: string): unknown {
    return this.reply.getHeader(name);
  }

  override setField(name: string, value: string): void {
    if (!this.res.headersSent) this.reply.header(name, value);
  }

  protected override setStatus(status: number): void {
    if (!this.res.headersSent) this.reply.code(status);
  }

  protected override end(body: string): void {
    // Its own serializer, or Fastify would add a charset to the type, which problem documents do not have.
    this.reply.serializer(asItIs).send(body);
  }
}

function asItIs(body: unknown): string {
  return body as string;
}
