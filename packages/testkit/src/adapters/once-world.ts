/** What an adapter provides to the tests of idempotency keys: an app of the framework, and requests to that app. */

import { once } from 'node:events';
import http from 'node:http';
import type { Readable } from 'node:stream';
import type { IdempotencyOptions, Limiter, RateLimitOptions, RequestClaim } from '@spillway/core';

export interface OnceVisit {
  readonly path: string;
  /** The result of the adapter's `claimOf`. */
  readonly claim: RequestClaim | undefined;
  /** Reads the body, or returns what a parser has read. */
  read(): Promise<unknown>;
}

/** The answer of a handler: a string, bytes, JSON, a stream, or nothing. */
export interface OnceAnswer {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | Readable;
  readonly json?: object;
}

export interface OnceApp {
  readonly limiters: readonly Limiter[];
  /** Whether compression is mounted before or behind the guard; undefined without compression. */
  readonly compression?: 'before' | 'behind' | undefined;
  readonly parses?: boolean | undefined;
  readonly rewrite?: ((target: string) => string) | undefined;
  handle(visit: OnceVisit): Promise<OnceAnswer>;
}

export interface OnceAsk {
  /** Default: POST. A HEAD request has no body. */
  readonly method?: 'POST' | 'HEAD';
  readonly path?: string;
  /** The idempotency key; null for none. Default `'key-1'`. */
  readonly key?: string | null;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface OnceReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly bytes: Buffer;
}

export interface OnceService {
  ask(ask?: OnceAsk): Promise<OnceReply>;
  /** Starts a request that the test can abort; undefined if requests do not come over a connection. */
  open?(ask?: OnceAsk): http.ClientRequest;
}

export interface OnceWorld {
  idempotency(options: Partial<IdempotencyOptions>): Limiter;
  rateLimit(options: RateLimitOptions): Limiter;
  serve(app: OnceApp): Promise<OnceService>;
  readonly compressions: readonly NonNullable<OnceApp['compression']>[];
  readonly parsers: readonly boolean[];
}

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
