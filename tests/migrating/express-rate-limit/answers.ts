/** The responses of express-rate-limit, and which responses it counts. */

import type { NextFunction, Request, Response } from 'express';
import { type Case, differs, same } from '../cases.js';
import { ask, passes, statuses } from '../world.js';
import { type Options, type Subject, serve } from './subject.js';

const DRAFT_6 = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'ratelimit-policy'];

const answered = (status: number) => ({ path: `/?status=${status}` });

/** The status and the body of the second request, with a limit of one. */
async function refusal(on: Subject, options: Options) {
  const service = await serve(on.limiter({ limit: 1, ...options }).handler);
  await ask(service);
  const { status, body } = await ask(service);
  return [status, body];
}

/** The headers of the first response, and of the first rejection. */
async function fields(on: Subject, options: Options, names: readonly string[]) {
  const service = await serve(on.limiter({ limit: 1, windowMs: 60_000, ...options }).handler);
  const shown = async () => {
    const { headers } = await ask(service);
    return names.map((name) => headers[name]);
  };
  return [await shown(), await shown()];
}

export const answers: readonly Case<Subject>[] = [
  same(
    'refuses with a text of its own',
    [429, 'Too many requests, please try again later.'],
    (on) => refusal(on, {}),
  ),
  same('says `message`', [429, 'slow down'], (on) => refusal(on, { message: 'slow down' })),
  same('sends an object in `message` as JSON', [429, '{"error":"slow down"}'], (on) =>
    refusal(on, { message: { error: 'slow down' } }),
  ),
  same('asks a function for the message', [429, 'GET is too fast'], (on) =>
    refusal(on, { message: (req: Request) => `${req.method} is too fast` }),
  ),
  same('waits for a message that is async', [429, 'later'], (on) =>
    refusal(on, { message: async () => 'later' }),
  ),
  same('refuses with `statusCode`', [420, 'Too many requests, please try again later.'], (on) =>
    refusal(on, { statusCode: 420 }),
  ),
  same('leaves the answer to `handler`', [418, 'mine'], (on) =>
    refusal(on, { handler: (_req, res) => void res.status(418).send('mine') }),
  ),
  differs(
    'lets `handler` pass the request on',
    {
      theirs: [200, 'hello'],
      ours: [429, 'Quota exceeded'],
      because:
        "A rejected request never reaches a route. `mode: 'shadow'` counts and lets every request pass.",
    },
    async (on) => {
      const [status, body] = await refusal(on, {
        handler: (_req, res, next) => {
          res.status(200);
          next();
        },
      });
      const text = String(body);
      return [status, text.startsWith('{') ? JSON.parse(text).title : text];
    },
  ),
  same('gives what an async `handler` rejects with to the app', 500, async (on) => {
    const handler = () => Promise.reject(new Error('mine'));
    const service = await serve(on.limiter({ limit: 1, handler }).handler);
    await ask(service);
    return (await ask(service)).status;
  }),
  same(
    'sends `X-RateLimit-Limit`, `-Remaining` and `-Reset`',
    [
      ['2', '1', true],
      ['2', '0', true],
    ],
    async (on) => {
      const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
      const end = String(Date.now() / 1_000 + 60);
      const seen = await fields(on, { limit: 2 }, names);
      return seen.map(([limit, left, reset]) => [limit, left, reset === end]);
    },
  ),
  same(
    "sends `RateLimit-Limit`, `-Remaining`, `-Reset` and `-Policy` with `standardHeaders: 'draft-6'`",
    [
      ['2', '1', '60', '2;w=60'],
      ['2', '0', '60', '2;w=60'],
    ],
    (on) => fields(on, { limit: 2, standardHeaders: 'draft-6' }, DRAFT_6),
  ),
  same('sends those with `standardHeaders: true`', [['1'], ['1']], (on) =>
    fields(on, { standardHeaders: true }, ['ratelimit-limit']),
  ),
  same('leaves them out with `legacyHeaders: false`', [[undefined], [undefined]], (on) =>
    fields(on, { legacyHeaders: false }, ['x-ratelimit-limit']),
  ),
  same('says in `Retry-After` how long the window lasts', [[undefined], ['60']], (on) =>
    fields(on, {}, ['retry-after']),
  ),
  differs(
    'sends no `Retry-After` where all fields are switched off',
    {
      theirs: [[undefined], [undefined]],
      ours: [[undefined], ['60']],
      because: 'A refusal has `Retry-After` whenever waiting helps.',
    },
    (on) => fields(on, { legacyHeaders: false, standardHeaders: false }, ['retry-after']),
  ),
  differs(
    "sends `RateLimit` and `RateLimit-Policy` as draft 7 has them, with `standardHeaders: 'draft-7'`",
    {
      theirs: [
        ['limit=1, remaining=0, reset=60', '1;w=60'],
        ['limit=1, remaining=0, reset=60', '1;w=60'],
      ],
      ours: [
        [undefined, undefined],
        [undefined, undefined],
      ],
      because: 'Drafts 7 to 10 are not written: draft 11, draft 6 and `X-RateLimit-*` are.',
    },
    (on) => fields(on, { standardHeaders: 'draft-7' }, ['ratelimit', 'ratelimit-policy']),
  ),
  differs(
    "sends them as draft 8 has them, with a digest of the key, with `standardHeaders: 'draft-8'`",
    {
      theirs: ['"api"; r=0; t=60', true],
      ours: ['"api";r=0;t=60', false],
      because: 'Draft 11 has the same fields. `pk`, which tells one key from another, is left out.',
    },
    async (on) => {
      const names = ['ratelimit', 'ratelimit-policy'];
      const options = { standardHeaders: 'draft-8', identifier: 'api' } as const;
      const [first] = await fields(on, options, names);
      return [first?.[0], String(first?.[1]).includes('pk=')];
    },
  ),
  same(
    'tells handlers the limit, what is used and what remains',
    { limit: 3, used: 1, remaining: 2 },
    async (on) => {
      let seen: unknown;
      const service = await serve(on.limiter({ limit: 3 }).handler, (req, _res, next) => {
        seen = on.infoOf(req);
        next();
      });
      await ask(service);
      return seen;
    },
  ),
  differs(
    'tells a `handler` that more is used than there is',
    {
      theirs: { limit: 1, used: 2, remaining: 0 },
      ours: { limit: 1, used: 1, remaining: 0 },
      because: 'A refused request uses up nothing, so `used` does not contain it.',
    },
    async (on) => {
      let seen: unknown;
      const handler = (req: Request, res: Response) => {
        seen = on.infoOf(req);
        res.end();
      };
      const service = await serve(on.limiter({ limit: 1, handler }).handler);
      await statuses(service, 2);
      return seen;
    },
  ),
  same(
    'does not count successes with `skipSuccessfulRequests`',
    [200, 302, 401, 429],
    async (on) => {
      const service = await serve(on.limiter({ limit: 1, skipSuccessfulRequests: true }).handler);
      return statuses(service, [answered(200), answered(302), answered(401), answered(401)]);
    },
  ),
  same('does not count failures with `skipFailedRequests`', [500, 404, 200, 429], async (on) => {
    const service = await serve(on.limiter({ limit: 1, skipFailedRequests: true }).handler);
    return statuses(service, [answered(500), answered(404), answered(200), answered(200)]);
  }),
  same('counts nothing with both', [200, 500, 200], async (on) => {
    const both = { skipFailedRequests: true, skipSuccessfulRequests: true };
    const service = await serve(on.limiter({ limit: 1, ...both }).handler);
    return statuses(service, [answered(200), answered(500), answered(200)]);
  }),
  same(
    'asks `requestWasSuccessful`, which sees what a handler left',
    [200, 200, 429],
    async (on) => {
      const options: Options = {
        limit: 1,
        skipSuccessfulRequests: true,
        requestWasSuccessful: (_req, res) => res.locals['loggedIn'] === true,
      };
      const login = (req: Request, res: Response, next: NextFunction) => {
        res.locals['loggedIn'] = req.path === '/right';
        next();
      };
      const service = await serve(on.limiter(options).handler, login);
      return statuses(service, [{ path: '/right' }, { path: '/wrong' }, { path: '/wrong' }]);
    },
  ),
  same('waits for a `requestWasSuccessful` that is async', [200, 200, 429], async (on) => {
    const options: Options = {
      limit: 1,
      skipFailedRequests: true,
      requestWasSuccessful: async (req) => req.path === '/good',
    };
    const service = await serve(on.limiter(options).handler);
    return statuses(service, [{ path: '/bad' }, { path: '/good' }, { path: '/good' }]);
  }),
  same('gives nothing back of a window that is over', [200, 200, 429], async (on) => {
    const held: (() => void)[] = [];
    const limiter = on.limiter({ limit: 1, windowMs: 60_000, skipSuccessfulRequests: true });
    const service = await serve(limiter.handler, (req, res, next) => {
      if (req.path !== '/slow') return next();
      held.push(() => res.end());
    });
    const slow = ask(service, { path: '/slow' });
    while (held.length === 0) await new Promise(setImmediate);
    await passes(60_000);
    const waiting = ask(service, { path: '/slow' });
    while (held.length === 1) await new Promise(setImmediate);
    held[0]?.();
    const first = (await slow).status;
    const refused = (await ask(service)).status;
    held[1]?.();
    return [first, (await waiting).status, refused];
  }),
  same('passes where the store fails, with `passOnStoreError`', [200, 200], async (on) =>
    statuses(await serve(on.broken({ limit: 1, passOnStoreError: true })), 2),
  ),
  differs(
    'answers 500 where the store fails',
    {
      theirs: 500,
      ours: 503,
      because:
        "`onStoreError: 'deny'` answers 503. The default, `'local'`, goes on counting in this process.",
    },
    async (on) => (await ask(await serve(on.broken()))).status,
  ),
];
