/** Adapters that are wrong in one way each, made from a correct one. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { type AdapterMutant, looks, mutant, releases, tells, writes } from './adapter-mutant.js';
import { header, type Pieces, right, writeHead } from './demo-service.js';
import { onceMutants } from './once-mutants.js';

export type { AdapterMutant } from './adapter-mutant.js';

const REFUSES = 'rejects the first request over the limit';
const ANSWERS = 'answers with what the route answers';
const BOTH = 'counts down one by one';

const wire: readonly AdapterMutant[] = [
  tells('answers 403', REFUSES, ({ allowed }) => (allowed ? {} : { status: 403 as 429 })),
  tells('answers 503 to whoever did too much', REFUSES, ({ allowed }) =>
    allowed ? {} : { status: 503 },
  ),
  tells('answers 429 while the fleet is full', 'rejects with 503 while the fleet', (admission) =>
    admission.status === 503 ? { status: 429 } : {},
  ),
  tells('answers 429 when the process is busy', 'sheds with 503', ({ binding }) =>
    binding?.reason === 'overload' ? { status: 429 } : {},
  ),
  writes('sends no RateLimit', ANSWERS, 'RateLimit', () => undefined),
  writes('sends no RateLimit-Policy', ANSWERS, 'RateLimit-Policy', () => undefined),
  writes('sends no Retry-After', REFUSES, 'Retry-After', () => undefined),
  writes('tells the wait in milliseconds', REFUSES, 'Retry-After', (value) => `${value}000`),
  writes('tells a fraction of a second', REFUSES, 'Retry-After', (value) => `${value}.0`),
  writes('tells a wait that is too short', REFUSES, 'Retry-After', (value) =>
    String(Number(value) - 60),
  ),
  writes('lets refusals be cached', REFUSES, 'Cache-Control', () => undefined),
  writes('adds a charset to the type', REFUSES, 'Content-Type', (type) => `${type}; charset=utf-8`),
  writes('spaces parameters', ANSWERS, 'RateLimit', (value) => value.replaceAll(';', '; ')),
  writes('tells a second more than it is', ANSWERS, 'RateLimit', (value) =>
    value.replace(/t=(\d+)/, (_, seconds) => `t=${Number(seconds) + 1}`),
  ),
  tells('tells nothing of a concurrency limit', ANSWERS, ({ headers }) => ({
    headers: headers.map(([name, value]) => [name, value.replace(/^"in-flight"[^,]*, /, '')]),
  })),
  tells('tells the size of the fleet', ANSWERS, ({ headers }) => ({
    headers: headers.map(([name, value]) => [name, value.replace(/^/, '"fleet";r=3, ')]),
  })),
  tells('shortens the body', REFUSES, ({ body }) => ({
    body: body.replace(/,"detail":"[^}]*",/, ','),
  })),
  tells('names another policy than the one that refused', REFUSES, ({ body }) => ({
    body: body.replace('["per-key"]', '["per-address"]'),
  })),
  tells('names only one of several that refuse', 'names every limit that rejects', ({ body }) => ({
    body: body.replace('"fleet",', ''),
  })),
  mutant('sends the fields in two lines', BOTH, {
    writeHead: (admission, res) => {
      writeHead({ ...admission, headers: [] }, res);
      for (const [name, value] of admission.headers) res.appendHeader(name, value);
      if (!admission.allowed) res.statusCode = admission.status;
    },
  }),
  mutant('overwrites what the guard before it said', BOTH, {
    writeHead: (admission, res) => {
      for (const [name, value] of admission.headers) res.setHeader(name, value);
      if (!admission.allowed) res.statusCode = admission.status;
    },
  }),
  mutant('puts its fields before those of the guard in front', BOTH, {
    writeHead: (admission, res) => {
      const before = ['RateLimit', 'RateLimit-Policy'].map((name) => [name, res.getHeader(name)]);
      for (const [name] of before) res.removeHeader(String(name));
      writeHead(admission, res);
      for (const [name, value] of before) {
        if (value) res.setHeader(String(name), `${res.getHeader(String(name))}, ${value}`);
      }
    },
  }),
  mutant('sends the legacy fields too', ANSWERS, { headers: ['draft-11', 'legacy'] }),
  mutant('tells handlers the numbers of another limit', BOTH, { remaining: () => 59 }),
  mutant('sends no length', REFUSES, {
    refuse: ({ body }, res) => {
      res.write(body);
      res.end();
    },
  }),
  mutant('has no length for HEAD', 'answers HEAD', {
    refuse: ({ body }, res) => void res.end(body),
  }),
  mutant('writes its problem over the 500 of a handler', 'leaves the 500', {
    fail: (res) => {
      res.setHeader('Content-Type', 'application/problem+json');
      right.fail(res);
    },
  }),
  mutant('loses the fields when a handler fails', 'leaves the 500', {
    fail: (res) => {
      for (const name of res.getHeaderNames()) res.removeHeader(name);
      right.fail(res);
    },
  }),
  mutant('answers 503 when a handler fails', 'leaves the 500', {
    fail: (res) => void res.writeHead(503).end(),
  }),
  mutant('runs the handler of a refused request', 'stops at the guard', {
    refuse: () => undefined,
    runsAfter: () => true,
  }),
  mutant('takes the body of a refused request for another request', 'keeps the connection', {
    refuse: (admission, res) => {
      const { socket } = res;
      res.once('finish', () =>
        socket?.write('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n'),
      );
      right.refuse(admission, res);
    },
  }),
];

const limits: readonly AdapterMutant[] = [
  mutant('enforces what is in shadow', 'shows nothing of a limit in shadow', { trial: 'enforce' }),
  tells('shows what is in shadow', 'shows nothing of a limit in shadow', ({ headers }) => ({
    headers: [...headers, ['X-Would-Deny', 'trial']],
  })),
  mutant('skips nothing', 'does not count what is skipped', { skip: () => false }),
  mutant('skips too much', 'rejects one request too many', { skip: ({ path }) => path === '/' }),
  mutant('asks limiters in another order', ANSWERS, {
    limiters: (limiters) => limiters.toReversed(),
  }),
  mutant('counts preflights', 'never counts a preflight', {
    answersPreflights: false,
    // Hides from the guard the properties that make it a guard.
    address: (req) => {
      delete req.headers['access-control-request-method'];
      return right.address(req);
    },
  }),
  mutant('lets by what only looks like a preflight', 'takes no request without Origin', {
    skip: (request) =>
      right.skip(request) || request.header('access-control-request-method') !== undefined,
  }),
  mutant('does not expose its fields', 'lets pages of other origins', {
    exposes: (res) => void res.setHeader('Access-Control-Allow-Origin', '*'),
  }),
  mutant('exposes nothing of a refusal', 'lets pages of other origins', {
    refuse: (admission, res) => {
      res.removeHeader('Access-Control-Expose-Headers');
      right.refuse(admission, res);
    },
  }),
  mutant('exposes nothing of a 503', 'rejects with 503 while the fleet', {
    refuse: (admission, res) => {
      if (admission.status === 503) res.removeHeader('Access-Control-Allow-Origin');
      right.refuse(admission, res);
    },
  }),
  mutant('counts what it refuses', 'charges nothing for a rejection', {
    store: (store) =>
      remoteStore({
        sync: false,
        ...(store.values && { values: store.values }),
        apply: async (steps) => {
          const answers = await store.apply(steps);
          const isRefused = answers.some(({ allowed }, at) => !allowed && steps[at]?.binding);
          if (isRefused) await store.apply(steps.map((it) => ({ ...it, op: 'record' })));
          return answers;
        },
      }),
  }),
  mutant('counts what is skipped against the fleet', 'answers what is skipped', {
    skip: () => false,
  }),
  mutant('sheds critical requests', 'lets critical requests pass', { priority: () => undefined }),
  mutant('takes every request for critical', 'rejects with 503 while the fleet', {
    priority: () => 'critical',
  }),
  mutant('has no worker shedder', 'sheds with 503', { limiters: ([, ...others]) => others }),
];

const clients: readonly AdapterMutant[] = [
  looks('counts each IPv6 address for itself', 'counts an IPv6 network', (req) =>
    header(req, 'x-forwarded-for')?.split(',').at(-1)?.trim(),
  ),
  looks('counts an IPv6 network of 48 bits as one', 'counts an IPv6 network', (req) =>
    right.address(req)?.split(':').slice(0, 3).join(':'),
  ),
  looks('counts mapped addresses apart', 'counts an IPv4 address', (req) =>
    /ffff/i.test(header(req, 'x-forwarded-for') ?? '') ? 'mapped' : right.address(req),
  ),
  looks(
    'believes the first entry',
    'trusts only the entry',
    (req) => header(req, 'x-forwarded-for')?.split(',')[0],
  ),
  looks('believes the first of several lines', 'trusts only the entry', (req) =>
    req.rawHeaders[req.rawHeaders.indexOf('x-forwarded-for') + 1]?.split(',').at(-1)?.trim(),
  ),
  looks('takes a port for a part of the address', 'reads addresses with a port', (req) =>
    /[\d\]]:\d+$/.test(header(req, 'x-forwarded-for') ?? '') ? 'port' : right.address(req),
  ),
  looks('counts a comma for a proxy', 'ignores empty elements', (req) =>
    header(req, 'x-forwarded-for')?.trim().endsWith(',') ? undefined : right.address(req),
  ),
  ...['forwarded', 'x-real-ip', 'cf-connecting-ip'].map((name) =>
    looks(
      `believes ${name}`,
      'trusts no other header',
      (req) => header(req, name) ?? right.address(req),
    ),
  ),
  looks('takes the socket for the client', ANSWERS, (req) => req.socket.remoteAddress),
  mutant('folds the case of keys', 'keeps keys apart', { key: keyAs((key) => key.toLowerCase()) }),
  mutant('cuts keys', 'keeps keys apart', { key: keyAs((key) => key.slice(0, 100)) }),
  mutant('takes a part of the key', 'keeps keys apart', { key: keyAs((key) => key.split(':')[0]) }),
  mutant('loses keys that are not ASCII', 'keeps keys apart', {
    key: keyAs((key) => (key.includes('\u00e9') ? '__proto__' : key)),
  }),
  mutant('lets those without a key share one', 'counts by address', {
    key: keyAs((key) => key, 'anonymous'),
  }),
];

function keyAs(change: (key: string) => string | undefined, none?: string): Pieces['key'] {
  return ({ header }) => {
    const key = header('x-api-key');
    return key ? change(key) : none;
  };
}

const permits: readonly AdapterMutant[] = [
  releases('never releases', 'holds the permit of a stream', () => undefined),
  releases('releases at once', 'rejects one request too many', (admission) =>
    admission.release({}),
  ),
  releases(
    'releases only what is finished',
    'frees the permit of a client that goes away in',
    on('finish'),
  ),
  releases(
    'releases with the first byte',
    'holds the permit of a stream',
    (admission, req, res) => {
      const { write } = res;
      res.write = ((text: string) => {
        admission.release({});
        return write.call(res, text, 'utf8');
      }) as ServerResponse['write'];
      right.release(admission, req, res);
    },
  ),
  releases(
    'releases nothing when a handler fails',
    'frees the permit when the handler',
    (admission, req, res) => {
      if (req.url !== '/fails') right.release(admission, req, res);
    },
  ),
  releases(
    'looks for the end only once it has begun',
    'frees the permit of a client that goes away before',
    (admission, req, res) => {
      // By then the client has disconnected, and no further event comes.
      setTimeout(() => on('close')(admission, req, res), 5);
    },
  ),
  releases(
    'does not see the end of what waits behind another',
    'frees the permits of requests',
    on('close'),
  ),
  mutant('sends a stream when it is whole', 'holds the permit of a stream', {
    write: (res, text) => {
      const whole = res as ServerResponse & { whole?: string };
      if (whole.whole === undefined) {
        whole.whole = '';
        const { end } = res;
        res.end = (() => end.call(res, whole.whole, 'utf8')) as ServerResponse['end'];
      }
      whole.whole += text;
    },
  }),
  tells('holds the permit of what it charges too late', 'is open again', ({ pending }) => ({
    pending,
    release: () => undefined,
  })),
];

/** Releases on one event only. */
function on(event: 'finish' | 'close'): Pieces['release'] {
  return (admission: Admission, _req: IncomingMessage, res: ServerResponse) => {
    res.once(event, () => admission.release({}));
  };
}

export const adapterMutants: readonly AdapterMutant[] = [
  ...wire,
  ...limits,
  ...clients,
  ...permits,
  ...onceMutants,
];
