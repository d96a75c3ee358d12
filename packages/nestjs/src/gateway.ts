/** Delivers the rejection of a gateway's message to its client, on socket.io and ws, in every version of Nest. */

import { createRequire } from 'node:module';
import type { ExecutionContext } from '@nestjs/common';
import { catchesError } from './metadata.js';

type Websockets = typeof import('@nestjs/websockets');

interface RejectionError extends Error {
  getError?(): unknown;
  getResponse?(): unknown;
}

interface NativeClient {
  readonly readyState?: unknown;
  readonly bufferedAmount?: number;
  send(frame: string): void;
}

const OPEN = 1;

/**
 * A client with this many unread bytes gets no frame. Otherwise a client that floods but never reads would fill memory.
 */
const MOST_BUFFERED = 65_536;

/**
 * Returns the error to throw for a rejected message. Unless a filter of the gateway catches `error`, this function
 * sends what Nest's own filter leaves out: the acknowledgement of socket.io or, before Nest 12, the frame of ws.
 */
export function rejectedMessage(error: RejectionError, context: ExecutionContext): Error {
  if (catchesError(context, error)) return error;
  // Loaded here, because only apps with gateways have this package. `require` is used, because Jest has no import() in
  // CommonJS.
  const require = createRequire(import.meta.url);
  const { BaseWsExceptionFilter, WsException } = require('@nestjs/websockets') as Websockets;
  const said = error.getError?.() ?? error.getResponse?.() ?? error.message;
  const data = typeof said === 'object' ? said : { status: 'error', message: said };
  const [client, , ack] = context.getArgs<[NativeClient, unknown, unknown]>();
  if (typeof ack === 'function') ack(data);
  // Nest 12 sends the frame in this method. Earlier versions emitted an event on the server's own socket object.
  const isSentByNest = 'emitMessage' in BaseWsExceptionFilter.prototype;
  const isReading = (client.bufferedAmount ?? 0) < MOST_BUFFERED;
  if (!isSentByNest && client.readyState === OPEN && isReading) {
    client.send(JSON.stringify({ event: 'exception', data }));
  }
  // Nest's filter hides the content of any other exception, and may log it as an error.
  return Object.assign(new WsException(data as object), { cause: error });
}
