/** What an adapter's tests give to the sentences about idempotency keys: an app of its framework, and how to ask it. */

import { once } from 'node:events';
import http from 'node:http';
import type { Readable } from 'node:stream';
import type { IdempotencyOptions, Limiter, RateLimitOptions, RequestClaim } from '@spillway/core';

/** What a handler knows of its request. */
export interface OnceVisit {
  readonly path: string;
  /** What the adapter's `claimOf` says of it. */
  readonly claim: RequestClaim | undefined;
  /** Reads the body, or gives what a parser has read. */
  read(): Promise<unknown>;
}

/** What a handler answers, in the ways of its framework: a text, bytes, JSON, a stream, or nothing. */
export interface OnceAnswer {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | Readable;
  readonly json?: object;
}

export interface OnceApp {
  readonly limiters: readonly Limiter[];
  /** Where compression is mounted, if it is: in front of the guard, or behind it. */
  readonly compression?: 'before' | 'behind' | undefined;
  /** Whether a parser reads JSON before the guard. */
  readonly parses?: boolean | undefined;
  /** What the app makes of a request's target, in front of the guard. */
  readonly rewrite?: ((target: string) => string) | undefined;
  /** Answers POST and HEAD of every path. */
  handle(visit: OnceVisit): Promise<OnceAnswer>;
}

export interface OnceAsk {
  /** Default POST; HEAD has no body. */
  readonly method?: 'POST' | 'HEAD';
  readonly path?: string;
  /** The idempotency key; null for none. Default `'key-1'`. */
  readonly key?: string | null;
  /** JSON. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface OnceReply {
  readonly status: number;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly bytes: Buffer;
}

export interface OnceService {
  ask(ask?: OnceAsk): Promise<OnceReply>;
  /** Where there are connections: a request that its client may break off. */
  open?(ask?: OnceAsk): http.ClientRequest;
}

/** One framework, over one kind of server. */
export interface OnceWorld {
  idempotency(options: Partial<IdempotencyOptions>): Limiter;
  rateLimit(options: RateLimitOptions): Limiter;
  /** Serves an app until the test is over. */
  serve(app: OnceApp): Promise<OnceService>;
  /** How compression can be mounted. */
  readonly compressions: readonly NonNullable<OnceApp['compression']>[];
  /** Where a parser can read the body: in front of the guard, behind it, or both. */
  readonly parsers: readonly boolean[];
}

/** Asks a server at a port. */
export function askAt(port: number): OnceService {
  const open: OnceService['open'] = ({ path = '/charges', ...ask } = {}) => {
    const { method, headers, body } = requestOf(ask);
    const request = http.request({ port, host: '127.0.0.1', path, method, headers, agent: false });
    return request.end(body ?? '');
  };
  const ask = async (what?: OnceAsk): Promise<OnceReply> => {
    const [response] = (await once(open(what), 'response')) as [http.IncomingMessage];
    const parts: Buffer[] = [];
    for await (const part of response) parts.push(part);
    const headers = response.headers as OnceReply['headers'];
    return { status: response.statusCode ?? 0, headers, bytes: Buffer.concat(parts) };
  };
  return { ask, open };
}

/** Asks a fetch handler, without a connection. */
export function askFetch(fetch: (request: Request) => Response | Promise<Response>): OnceService {
  return {
    async ask({ path = '/charges', ...ask } = {}) {
      const { host = 'localhost' } = ask.headers ?? {};
      const response = await fetch(new Request(`http://${host}${path}`, requestOf(ask)));
      const headers = Object.fromEntries(response.headers);
      const bytes = Buffer.from(await response.arrayBuffer());
      return { status: response.status, headers, bytes };
    },
  };
}

function requestOf({ method = 'POST', key = 'key-1', body = '{"amount":1}', headers }: OnceAsk) {
  const own = key === null ? {} : { 'idempotency-key': key };
  if (method === 'HEAD') return { method, headers: { ...own, ...headers }, body: null };
  const length = String(Buffer.byteLength(body));
  return {
    method,
    headers: { 'content-type': 'application/json', 'content-length': length, ...own, ...headers },
    body,
  };
}
