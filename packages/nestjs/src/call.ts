import type { ExecutionContext } from '@nestjs/common';
import type { NodeRequest, NodeResponse } from '@spillway/core/node';

/** On a request whose response is recorded: the function to call if its handler was dropped and never answers. */
export const DROP: unique symbol = Symbol.for('spillway.drop');

/** The request of Express or Fastify, or the request that opened a socket. */
export interface PlatformRequest {
  readonly method?: string;
  readonly url?: string;
  /** The target as the client sent it. Both platforms set it for HTTP. */
  readonly originalUrl?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly socket?: { readonly remoteAddress?: string | undefined };
  /** Only on Express: the path under which the router is mounted. */
  readonly baseUrl?: string;
  readonly route?: { readonly path?: unknown };
  readonly res?: PlatformResponse;
  readonly routeOptions?: { readonly url?: string };
  readonly raw?: NodeRequest;
  readonly body?: unknown;
  [DROP]?: () => void;
}

export interface FastifyReply {
  readonly raw: NodeResponse;
  /** Whether the reply was sent, or hijacked by code that writes to `raw`. */
  readonly sent: boolean;
  getHeader(name: string): unknown;
  header(name: string, value: string): unknown;
  code(status: number): unknown;
  send(payload: Uint8Array): unknown;
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>;
  hijack(): unknown;
}

export type PlatformResponse = NodeResponse | FastifyReply;

export interface Call {
  readonly request?: PlatformRequest | undefined;
  readonly response?: PlatformResponse | undefined;
  /** True only for HTTP. In GraphQL, several calls share a response. */
  readonly ownsResponse: boolean;
  /**
   * The name of a call that is not an HTTP request: `Query.cats`, the pattern of a WebSocket message, or `Class.method`
   * for RPC.
   */
  readonly operation?: string | undefined;
}

interface GraphqlContext {
  readonly req?: PlatformRequest;
  readonly request?: PlatformRequest;
  readonly res?: PlatformResponse;
  readonly reply?: PlatformResponse & { readonly request?: PlatformRequest };
}

interface SocketClient {
  /** With socket.io, this is the request that opened the connection. */
  readonly request?: PlatformRequest;
  /** With ws, this is the connection. */
  readonly _socket?: NonNullable<PlatformRequest['socket']>;
}

/** Describes a call. Never throws, whatever the app puts into its contexts. */
export function callOf(context: ExecutionContext): Call {
  try {
    return findCall(context);
  } catch {
    return { ownsResponse: false };
  }
}

function findCall(context: ExecutionContext): Call {
  switch (context.getType<string>()) {
    case 'http':
      return {
        request: context.getArgByIndex(0),
        response: context.getArgByIndex(1),
        ownsResponse: true,
      };
    case 'graphql':
      return graphql(context);
    case 'ws':
      return socket(context);
    default:
      return { ownsResponse: false, operation: handlerName(context) };
  }
}

export function handlerName(context: ExecutionContext): string {
  return `${context.getClass().name}.${context.getHandler().name}`;
}

/**
 * Returns the platform's request for HTTP and GraphQL, the client for WebSockets, and the data for RPC; an empty object
 * if there is none. Authentication puts the user on this object. `admissionsOf` takes the request, but not the client.
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
 * The object that identifies one call, for its guard and for the decorators of its parameters. It is the HTTP request,
 * the `info` of a resolver, the data of a WebSocket message, or the context of an RPC message. If that is not an
 * object, it is the first argument that is one.
 */
export function holderOf(context: ExecutionContext): object {
  const args = context.getArgs<unknown[]>();
  const type = context.getType<string>();
  const own = type === 'graphql' ? args[3] : args[type === 'http' ? 0 : 1];
  return [own, ...args].find(isObject) ?? context;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * The arguments of a resolver are (root, args, context, info). The app decides what is in the context, so this function
 * tries the usual names.
 */
function graphql(context: ExecutionContext): Call {
  const shared = context.getArgByIndex<GraphqlContext | undefined>(2);
  const info = context.getArgByIndex<{ parentType?: unknown; fieldName?: string } | undefined>(3);
  const request = shared?.req ?? shared?.request ?? shared?.reply?.request;
  const response = shared?.res ?? shared?.reply ?? request?.res;
  return {
    request,
    response: isHttp(request, response) ? response : undefined,
    ownsResponse: false,
    operation: info && `${String(info.parentType)}.${info.fieldName}`,
  };
}

/** Leaves out the method and URL of the request that opened the connection: the message has its own operation. */
function socket(context: ExecutionContext): Call {
  const client = context.getArgByIndex<SocketClient | undefined>(0);
  const { headers = {}, socket = client?._socket ?? {} } = client?.request ?? {};
  return {
    request: { headers, socket },
    ownsResponse: false,
    operation: String(context.switchToWs().getPattern()),
  };
}

/** Whether these are a real request and response. In subscriptions and other transports they may be anything. */
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
 * Uses `hasOwn`, because Express changes the prototypes at each request, and a lookup on them then costs microseconds.
 */
export function isFastify(response: PlatformResponse): response is FastifyReply {
  return Object.hasOwn(response, 'raw');
}
