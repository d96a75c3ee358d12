/** The demo API on node:http, in pieces. A mutant replaces one of them. */

import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Admission,
  canonicalAddress,
  concurrencyLimit,
  createGuard,
  type Decision,
  fleetShedder,
  type Guard,
  idempotency,
  type Limiter,
  type LimitRequest,
  memoryStore,
  rateLimit,
  type Store,
} from '@spillway/core';
import { clientAddress, compileTrust, Gate, mergeHeaders } from '@spillway/core/adapter';
import { NodeExchange } from '@spillway/core/node';

const EXPOSED = 'RateLimit, RateLimit-Policy, Retry-After, Idempotency-Replayed';

type Request = LimitRequest<IncomingMessage>;

const oneProxy = compileTrust(1);
const isCharge = (path: string): boolean => path.startsWith('/charges');

/** A correct adapter, with a correct app behind it. */
export const right = {
  address: (req: IncomingMessage): string | undefined =>
    canonicalAddress(
      clientAddress(oneProxy, req.socket.remoteAddress, header(req, 'x-forwarded-for')),
    ),
  key: ({ header }: Request): string | undefined => header('x-api-key'),
  priority: ({ path }: Request): string | undefined => (isCharge(path) ? 'critical' : undefined),
  skip: ({ path }: Request): boolean => path === '/health',
  /** Whether a preflight is answered before the guards. */
  answersPreflights: true,
  trial: 'shadow' as 'shadow' | 'enforce',
  headers: ['draft-11'] as ('draft-11' | 'legacy')[],
  store: (store: Store): Store => store,
  limiters: (limiters: Limiter<IncomingMessage>[]): Limiter<IncomingMessage>[] => limiters,
  /** What an admission becomes on its way to the response. */
  admission: (admission: Admission): Admission => admission,
  exposes: (res: ServerResponse): void => {
    res.setHeader('Access-Control-Allow-Origin', '*');
    res.setHeader('Access-Control-Expose-Headers', EXPOSED);
  },
  /** The idempotency key of a request. */
  onceKey: (value: string | undefined): string | undefined => value,
  /** Whose it is. */
  scope: ({ header, clientIp }: Request): string | undefined => header('x-api-key') ?? clientIp,
  exchange: (req: IncomingMessage, res: ServerResponse): NodeExchange =>
    new NodeExchange(req, res, false),
  release: (admission: Admission, req: IncomingMessage, res: ServerResponse): void =>
    new NodeExchange(req, res, false).onClosed((outcome) => admission.release(outcome)),
  writeHead,
  refuse: ({ body }: Admission, res: ServerResponse): void => {
    res.setHeader('Content-Length', body.length);
    res.end(body);
  },
  /** Whether the handler runs after all. */
  runsAfter: (admission: Admission): boolean => admission.allowed,
  remaining: (decisions: readonly Decision[]): number | undefined =>
    decisions.find(({ limiter }) => limiter === 'per-key')?.remaining,
  write: (res: ServerResponse, text: string): void => void res.write(text),
  fail: (res: ServerResponse): void => {
    res.statusCode = 500;
    res.end('Internal Server Error');
  },
};

export type Pieces = typeof right;

/** Sets the headers of an admission and, for a rejection, the status. */
export function writeHead({ allowed, headers, status }: Admission, res: ServerResponse): void {
  for (const [name, value] of mergeHeaders(headers, (field) => res.getHeader(field))) {
    res.setHeader(name, value);
  }
  if (!allowed) res.statusCode = status;
}

/** Sheds every third report, as if the process were busy. */
const workers: Limiter<IncomingMessage> = {
  kind: 'local',
  name: 'workers',
  mode: 'enforce',
  decide: ({ path }) => {
    const sheds = path === '/report' && Math.random() < 0.3;
    return {
      limiter: 'workers',
      allowed: !sheds,
      outcome: sheds ? 'denied' : 'allowed',
      reason: sheds ? 'overload' : null,
      cost: 1,
      used: Number.NaN,
      remaining: Number.NaN,
      retryAfterMs: sheds ? 1_500 : 0,
      resetMs: Number.NaN,
    };
  },
};

/** The service of these pieces, not yet listening. */
export function service(pieces: Pieces): http.Server {
  const { key, priority, skip, headers } = pieces;
  const store = pieces.store(memoryStore());
  const window = '1h';
  const limiters = pieces.limiters([
    workers,
    fleetShedder({ name: 'fleet', capacity: 20, reserve: 0.2, priority }),
    concurrencyLimit({ name: 'in-flight', limit: 5, key }),
    rateLimit({ name: 'per-address', limit: 60, window }),
    rateLimit({ name: 'trial', limit: 1, window, mode: pieces.trial }),
  ]);
  const options = { store, skip, headers };
  const front = createGuard(limiters, options);
  // Requests with an idempotency key go through a gate, which stores responses.
  const once = new Gate([idempotency({ scope: pieces.scope }), ...limiters], options);
  const keys = rateLimit<IncomingMessage>({ name: 'per-key', limit: 5, window, key });
  const behind = createGuard(keys, { store, headers });

  const admit = async (
    guard: Guard<IncomingMessage>,
    req: IncomingMessage,
    res: ServerResponse,
  ) => {
    const admission = pieces.admission(await guard.admit(translate(req, pieces)));
    if (admission.pending) pieces.release(admission, req, res);
    pieces.writeHead(admission, res);
    if (!admission.allowed) pieces.refuse(admission, res);
    return admission;
  };

  return http.createServer(async (req, res) => {
    const { pathname } = new URL(req.url ?? '/', 'http://demo');
    const isPreflight = req.method === 'OPTIONS' && req.headers.origin !== undefined;
    pieces.exposes(res);
    if (isPreflight && pieces.answersPreflights) return void res.writeHead(204).end();
    if (pieces.onceKey(header(req, 'idempotency-key')) === undefined) {
      const admission = await admit(front, req, res);
      if (!pieces.runsAfter(admission)) return;
    } else {
      const exchange = pieces.exchange(req, res);
      if ((await once.enter(translate(req, pieces), exchange, req)) !== 'pass') return;
    }
    if (req.method === 'OPTIONS') return void res.writeHead(204).end();
    if (pathname !== '/things') return void (await route(pathname, req, res, pieces));
    const { allowed, decisions } = await admit(behind, req, res);
    const things = ['a dam', 'a gate'];
    if (allowed) json(res, 200, { things, remaining: pieces.remaining(decisions) });
  });
}

async function route(
  pathname: string,
  req: IncomingMessage,
  res: ServerResponse,
  { fail, write }: Pieces,
): Promise<void> {
  const { searchParams } = new URL(req.url ?? '/', 'http://demo');
  if (pathname === '/fails') return fail(res);
  if (pathname === '/charges') {
    const { amount, note } = JSON.parse((await text(req)) || '{}');
    await sleep(Number(searchParams.get('ms') ?? 0));
    return json(res, 201, { charged: true, id: crypto.randomUUID(), amount, note });
  }
  res.setHeader('Content-Type', 'text/plain');
  if (pathname === '/health') return void res.end('ok\n');
  if (pathname === '/report') return void res.end('done\n');
  if (pathname === '/') return void res.end('Hello from behind a spillway.\n');
  const chunks = Number(searchParams.get('chunks') ?? 5);
  for (let chunk = 1; chunk <= chunks && !res.destroyed; chunk += 1) {
    write(res, `${chunk}\n`);
    await sleep(100, undefined, { ref: false });
  }
  res.end();
}

function translate(req: IncomingMessage, pieces: Pieces): Request {
  const [path = '/'] = (req.url ?? '/').split('?');
  const clientIp = pieces.address(req);
  const { method = 'GET' } = req;
  const fieldOf = (name: string) =>
    name === 'idempotency-key' ? pieces.onceKey(header(req, name)) : header(req, name);
  return { method, path, clientIp, header: fieldOf, raw: req };
}

export function header(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

function json(res: ServerResponse, status: number, value: unknown): void {
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}
