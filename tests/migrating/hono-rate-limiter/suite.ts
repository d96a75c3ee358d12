/** The behaviours of hono-rate-limiter, gathered from its documentation and from what its tests check. */

import type { Context } from 'hono';
import { type Case, differs, type Suite, same } from '../cases.js';
import { ask, passes, statuses } from '../world.js';
import { type Options, ours, type Subject, serve, theirs } from './subject.js';

const keyGenerator = (c: Context): string => c.req.header('x-forwarded-for') ?? 'none';
const one = { limit: 1, keyGenerator } as const;
const other = { from: '203.0.113.2' } as const;
const answered = (status: number) => ({ path: `/?status=${status}` });

const serveWith = (on: Subject, options: Partial<Options>) =>
  serve(on.limiter({ ...one, ...options }).handler);

/** The status and the body of the second response, with a limit of one. */
async function refusal(on: Subject, options: Partial<Options>) {
  const service = await serveWith(on, options);
  await ask(service);
  const { status, body } = await ask(service);
  return [status, body];
}

const cases: readonly Case<Subject>[] = [
  same('lets `limit` requests of a key pass', [200, 200, 429, 200], async (on) =>
    statuses(await serveWith(on, { limit: 2 }), [{}, {}, {}, other]),
  ),
  same(
    'lets five pass in a minute unless told otherwise',
    [200, 200, 200, 200, 200, 429],
    async (on) => statuses(await serve(on.limiter({ keyGenerator }).handler), 6),
  ),
  same('waits for a `keyGenerator` that is async', [200, 429, 200], async (on) => {
    const later = async (c: Context) => keyGenerator(c);
    return statuses(await serveWith(on, { keyGenerator: later }), [{}, {}, other]);
  }),
  differs(
    'counts all requests together for which `keyGenerator` returns nothing',
    {
      theirs: [200, 429],
      ours: [200, 200],
      because: 'The address counts in place of the key.',
    },
    async (on) => {
      const none = () => undefined as unknown as string;
      return statuses(await serveWith(on, { keyGenerator: none }), [{}, other]);
    },
  ),
  same('admits again when the window is over', [200, 429, 200], async (on) => {
    const service = await serveWith(on, { windowMs: 60_000 });
    const before = await statuses(service, 2);
    await passes(60_000);
    return [...before, ...(await statuses(service, 1))];
  }),
  same('begins the window with the first request of a key', [200, 429], async (on) => {
    await passes(20_000);
    const service = await serveWith(on, { windowMs: 60_000 });
    const before = await statuses(service, 1);
    await passes(59_000);
    return [...before, ...(await statuses(service, 1))];
  }),
  same('asks a function for the limit, and waits for it', [200, 200, 429], async (on) =>
    statuses(await serveWith(on, { limit: async () => 2 }), 3),
  ),
  same('does not count what `skip` names', [200, 200, 200, 429], async (on) => {
    const skip = async (c: Context) => c.req.path === '/health';
    const service = await serveWith(on, { skip });
    return statuses(service, [{ path: '/health' }, { path: '/health' }, {}, {}]);
  }),
  same(
    'refuses with a text of its own',
    [429, 'Too many requests, please try again later.'],
    (on) => refusal(on, {}),
  ),
  same('says `message` with `statusCode`', [420, 'slow down'], (on) =>
    refusal(on, { message: 'slow down', statusCode: 420 }),
  ),
  same('sends an object in `message` as JSON', [429, '{"error":"slow down"}'], (on) =>
    refusal(on, { message: { error: 'slow down' } }),
  ),
  same('asks a function for the message', [429, 'GET is too fast'], (on) =>
    refusal(on, { message: async (c: Context) => `${c.req.method} is too fast` }),
  ),
  same('leaves the answer to `handler`', [418, 'mine'], (on) =>
    refusal(on, { handler: (c) => c.text('mine', 418) }),
  ),
  same('does not count successes with `skipSuccessfulRequests`', [200, 401, 429], async (on) =>
    statuses(await serveWith(on, { skipSuccessfulRequests: true }), [
      answered(200),
      answered(401),
      answered(401),
    ]),
  ),
  same('does not count failures with `skipFailedRequests`', [500, 404, 200, 429], async (on) =>
    statuses(await serveWith(on, { skipFailedRequests: true }), [
      answered(500),
      answered(404),
      answered(200),
      answered(200),
    ]),
  ),
  same('takes a handler that throws for a failure', [500, 200, 429], async (on) =>
    statuses(await serveWith(on, { skipFailedRequests: true }), [{ path: '/throws' }, {}, {}]),
  ),
  same('asks `requestWasSuccessful`', [200, 200, 429], async (on) => {
    const requestWasSuccessful = async (c: Context) => c.req.path === '/good';
    const service = await serveWith(on, { skipFailedRequests: true, requestWasSuccessful });
    return statuses(service, [{ path: '/bad' }, { path: '/good' }, { path: '/good' }]);
  }),
  same(
    'tells handlers the limit, what is used and what remains',
    { limit: 3, used: 1, remaining: 2 },
    async (on) => {
      const limiter = on.limiter({ ...one, limit: 3 });
      let seen: unknown;
      const service = await serve(limiter.handler, async (c, next) => {
        seen = limiter.infoOf(c);
        await next();
      });
      await ask(service);
      return seen;
    },
  ),
  same('lets a handler forget a key', [200, 200, 200], async (on) => {
    const limiter = on.limiter(one);
    const service = await serve(limiter.handler, async (c, next) => {
      await limiter.resetKey(c, keyGenerator(c));
      await next();
    });
    return statuses(service, 3);
  }),
  same('says in `Retry-After` how long the window lasts', '60', async (on) => {
    const service = await serveWith(on, {});
    await ask(service);
    return (await ask(service)).headers['retry-after'];
  }),
  same(
    'sends `RateLimit-Limit`, `-Remaining`, `-Reset` and `-Policy` unless told otherwise',
    ['2', '1', '60', '2;w=60'],
    async (on) => {
      const { headers } = await ask(await serveWith(on, { limit: 2 }));
      const names = ['limit', 'remaining', 'reset', 'policy'];
      return names.map((name) => headers[`ratelimit-${name}`]);
    },
  ),
  same('sends none of them with `standardHeaders: false`', undefined, async (on) => {
    const { headers } = await ask(await serveWith(on, { standardHeaders: false }));
    return headers['ratelimit-limit'];
  }),
  differs(
    "sends `RateLimit` and `RateLimit-Policy` as draft 7 has them, with `standardHeaders: 'draft-7'`",
    {
      theirs: ['limit=1, remaining=0, reset=60', '1;w=60'],
      ours: ['"limit";r=0;t=60', '"limit";q=1;w=60'],
      because: 'Drafts 7 to 10 are not written: draft 11, draft 6 and `X-RateLimit-*` are.',
    },
    async (on) => {
      const { headers } = await ask(await serveWith(on, { standardHeaders: 'draft-7' }));
      return [headers['ratelimit'], headers['ratelimit-policy']];
    },
  ),
];

export const honoRateLimiter: Suite<Subject> = {
  peer: 'hono-rate-limiter',
  cases,
  theirs: () => theirs,
  ours: () => ours,
};
