/** Where the request and the response of a call are: HTTP on both platforms, GraphQL, WebSockets, RPC. */

import type { ExecutionContext } from '@nestjs/common';
import type { NodeRequest, NodeResponse } from '@spillway/core/node';

/** What is needed of a request: Express', Fastify's, or the one that opened a socket. */
export interface PlatformRequest {
  readonly method?: string;
  readonly url?: string;
  /** Of HTTP on both platforms: the target as the client has sent it. */
  readonly originalUrl?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly socket?: { readonly remoteAddress?: string | undefined };
  /** Express: where an app is mounted, and the matched route. */
  readonly baseUrl?: string;
  readonly route?: { readonly path?: unknown };
  /** Express: its response. */
  readonly res?: PlatformResponse;
  /** Fastify: the matched route, and Node's request. */
  readonly routeOptions?: { readonly url?: string };
  readonly raw?: NodeRequest;
  /** What a parser has made of the body. */
  readonly body?: unknown;
}

/** What is needed of Fastify's reply. */
export interface FastifyReply {
  readonly raw: NodeResponse;
  /** Sent, or taken over by someone who writes to `raw`. */
  readonly sent: boolean;
  getHeader(name: string): unknown;
  header(name: string, value: string): unknown;
  code(status: number): unknown;
  send(payload: Uint8Array): unknown;
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>;
  hijack(): unknown;
}

export type PlatformResponse = NodeResponse | FastifyReply;

/** A call and, where there are any, the request and the response of HTTP that it came by. */
export interface Call {
  readonly request?: PlatformRequest | undefined;
  readonly response?: PlatformResponse | undefined;
  /** Whether the response is this call's alone; in GraphQL several share it. */
  readonly own: boolean;
  /** Of a call that is no HTTP request: `Query.cats`, or the pattern of a message. */
  readonly operation?: string | undefined;
}

interface GraphqlContext {
  readonly req?: PlatformRequest;
  readonly request?: PlatformRequest;
  readonly res?: PlatformResponse;
  readonly reply?: PlatformResponse & { readonly request?: PlatformRequest };
}

interface SocketClient {
  /** socket.io: the request that opened the connection. */
  readonly request?: PlatformRequest;
  /** ws: the connection. */
  readonly _socket?: NonNullable<PlatformRequest['socket']>;
}

/** Never throws: what an app puts into its contexts is its own affair. */
export function callOf(context: ExecutionContext): Call {
  try {
    return findCall(context);
  } catch {
    return { own: false };
  }
}

function findCall(context: ExecutionContext): Call {
  switch (context.getType<string>()) {
    case 'http':
      return { request: context.getArgByIndex(0), response: context.getArgByIndex(1), own: true };
    case 'graphql':
      return graphql(context);
    case 'ws':
      return socket(context);
    default:
      return { own: false, operation: `${context.getClass().name}.${context.getHandler().name}` };
  }
}

/**
 * The object that stands for the request, for `admissionsOf`, and where authentication left the user: the platform's
 * request for HTTP and GraphQL, the client for WebSockets.
 *
 * @example
 * ```ts
 * import { rateLimit, requestOf } from '@spillway/nestjs';
 *
 * rateLimit({
 *   name: 'per-user',
 *   limit: 100,
 *   window: '1m',
 *   key: ({ raw }) => requestOf<{ user?: { id: string } }>(raw).user?.id,
 * });
 * ```
 */
export function requestOf<Request extends object = object>(context: ExecutionContext): Request {
  const isGraphql = context.getType<string>() === 'graphql';
  return ((isGraphql ? graphql(context).request : context.getArgByIndex(0)) ?? {}) as Request;
}

/**
 * GraphQL hands over (root, args, context, info); what is in the context is up to the app, and these are the usual
 * names.
 */
function graphql(context: ExecutionContext): Call {
  const shared = context.getArgByIndex<GraphqlContext | undefined>(2);
  const info = context.getArgByIndex<{ parentType?: unknown; fieldName?: string } | undefined>(3);
  const request = shared?.req ?? shared?.request ?? shared?.reply?.request;
  const response = shared?.res ?? shared?.reply ?? request?.res;
  return {
    request,
    response: isHttp(request, response) ? response : undefined,
    own: false,
    operation: info && `${String(info.parentType)}.${info.fieldName}`,
  };
}

function socket(context: ExecutionContext): Call {
  const client = context.getArgByIndex<SocketClient | undefined>(0);
  const request = client?.request ?? (client?._socket && { socket: client._socket });
  return { request, own: false, operation: String(context.switchToWs().getPattern()) };
}

/** Whether they are what they are called: in a subscription, or with other transports, they may be anything. */
function isHttp(
  request: PlatformRequest | undefined,
  response: PlatformResponse | undefined,
): boolean {
  if (typeof request !== 'object' || typeof response !== 'object') return false;
  const { socket } = nodeRequest(request);
  const { on, setHeader } = nodeResponse(response);
  return typeof socket === 'object' && typeof on === 'function' && typeof setHeader === 'function';
}

export function nodeRequest(request: PlatformRequest): NodeRequest {
  return request.raw ?? (request as NodeRequest);
}

export function nodeResponse(response: PlatformResponse): NodeResponse {
  return isFastify(response) ? response.raw : response;
}

/**
 * A property of its own: to look further up costs microseconds on Express, which changes prototypes at every request.
 */
export function isFastify(response: PlatformResponse): response is FastifyReply {
  return Object.hasOwn(response, 'raw');
}
