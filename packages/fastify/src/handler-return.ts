import { subscribe } from 'node:diagnostics_channel';
import type { FastifyReply } from 'fastify';

const listeners = new WeakMap<object, () => void>();
let isSubscribed = false;

/** Calls back when the async handler of a request has returned. No hook of Fastify tells that. */
export function onReturn(reply: FastifyReply, returned: () => void): void {
  if (!isSubscribed) subscribe('tracing:fastify.request.handler:asyncEnd', noteReturn);
  isSubscribed = true;
  const before = listeners.get(reply); // of another guard
  listeners.set(reply, () => {
    before?.();
    returned();
  });
}

function noteReturn(message: unknown): void {
  listeners.get((message as { readonly reply: FastifyReply }).reply)?.();
}
