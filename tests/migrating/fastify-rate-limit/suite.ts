/** The behaviours of @fastify/rate-limit, gathered from its documentation and from what its tests check. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Case, differs, type Suite, same } from '../cases.js';
import { ask, passes, statuses } from '../world.js';
import { type App, ours, type Subject, theirs } from './subject.js';

const one = { max: 1, timeWindow: 60_000 } as const;
const two = { max: 2, timeWindow: 60_000 } as const;
const other = { from: '203.0.113.2' } as const;
const A = { path: '/a' } as const;
const B = { path: '/b' } as const;

/** The statuses of requests, with a pause before each. */
async function after(on: Subject, app: App, pauses: readonly number[]): Promise<number[]> {
  const service = await on.serve(app);
  const seen: number[] = [];
  for (const pause of pauses) {
    await passes(pause);
    seen.push((await ask(service)).status);
  }
  return seen;
}

async function codeOf(run: () => Promise<unknown>): Promise<unknown> {
  try {
    return await run();
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

const cases: readonly Case<Subject>[] = [
  same('lets `max` requests of a client pass', [200, 200, 429, 200], async (on) =>
    statuses(await on.serve({ options: two }), [{}, {}, {}, other]),
  ),
  same('counts all routes together that say nothing', [200, 200, 429], async (on) => {
    const service = await on.serve({ options: two, routes: { '/a': {}, '/b': {} } });
    return statuses(service, [A, B, A]);
  }),
  same('admits again when the window is over', [200, 429, 200], (on) =>
    after(on, { options: one }, [0, 0, 60_000]),
  ),
  same('begins the window with the first request of a client', [200, 429], (on) =>
    after(on, { options: one }, [20_000, 59_000]),
  ),
  same('counts addresses of an IPv6 /64 as one client', [200, 429], async (on) => {
    const addresses = ['2001:db8:0:1::1', '2001:db8:0:1::2'];
    return statuses(
      await on.serve({ options: one }),
      addresses.map((from) => ({ from })),
    );
  }),
  differs(
    "reads a window in words, such as `'1 minute'`",
    {
      theirs: [200, 429],
      ours: 'SPW_WINDOW_INVALID',
      because: "It is written `'1m'`, or in milliseconds.",
    },
    (on) =>
      codeOf(async () =>
        statuses(await on.serve({ options: { max: 1, timeWindow: '1 minute' } }), 2),
      ),
  ),
  same('asks a function for `timeWindow`', [200, 429, 200], async (on) => {
    const service = await on.serve({ options: { max: 1, timeWindow: () => 10_000 } });
    const first = await statuses(service, 2);
    await passes(11_000);
    return [...first, ...(await statuses(service, 1))];
  }),
  same('asks a function for `max`, and waits for it', [200, 200, 429], async (on) =>
    statuses(await on.serve({ options: { ...one, max: async () => 2 } }), 3),
  ),
  differs(
    'lets nobody pass with `max: 0`',
    {
      theirs: [429],
      ours: 'SPW_LIMIT_INVALID',
      because: 'The constant 0 throws, as a mistake. A plan with a limit of 0 lets nobody pass.',
    },
    (on) => codeOf(async () => statuses(await on.serve({ options: { ...one, max: 0 } }), 1)),
  ),
  same('counts what `keyGenerator` says', [200, 429, 200], async (on) => {
    const keyGenerator = async (request: FastifyRequest) =>
      String((request.query as { user?: string }).user);
    const users = ['a', 'a', 'b'];
    return statuses(
      await on.serve({ options: { ...one, keyGenerator } }),
      users.map((user) => ({ path: `/?user=${user}` })),
    );
  }),
  same('does not count addresses in `allowList`', [200, 200, 200, 429], async (on) => {
    const options = { ...one, allowList: ['203.0.113.1'] };
    return statuses(await on.serve({ options }), [{}, {}, other, other]);
  }),
  same('does not count what a function of `allowList` names', [200, 200, 200, 429], async (on) => {
    const allowList = async (request: FastifyRequest) => request.headers['x-probe'] === '1';
    const probe = { fields: { 'x-probe': '1' } };
    return statuses(await on.serve({ options: { ...one, allowList } }), [probe, probe, {}, {}]);
  }),
  same('limits only routes that say so with `global: false`', [200, 200, 200, 429], async (on) => {
    const options = { global: false } as const;
    const service = await on.serve({ options, routes: { '/a': {}, '/b': one } });
    return statuses(service, [A, A, B, B]);
  }),
  same('limits no route that says `false`', [200, 200, 200, 429], async (on) => {
    const service = await on.serve({ options: one, routes: { '/a': false, '/b': {} } });
    return statuses(service, [A, A, B, B]);
  }),
  differs(
    'limits a route by its own numbers in place of the general ones',
    {
      theirs: [200, 200, 429],
      ours: [200, 429, 429],
      because: 'Limits of a route are added to those of the plugin: all must let the request pass.',
    },
    async (on) => {
      const service = await on.serve({ options: one, routes: { '/a': two } });
      return statuses(service, [A, A, A]);
    },
  ),
  differs(
    'counts routes with one `groupId` apart, in memory',
    {
      theirs: [200, 200, 200, 200],
      ours: [200, 200, 429, 429],
      because: 'What stands in `groups` is one count, wherever it is kept.',
    },
    async (on) => {
      const group = { ...two, groupId: 'ab' };
      const options = { global: false } as const;
      const service = await on.serve({ options, routes: { '/a': group, '/b': group } });
      return statuses(service, [A, B, A, B]);
    },
  ),
  same('knows with `preHandler` what hooks before it have found', [200, 429, 200], async (on) => {
    const before = (app: FastifyInstance) => {
      app.decorateRequest('account', '');
      app.addHook('onRequest', async (request) => {
        Object.assign(request, { account: request.headers['x-key'] });
      });
    };
    const keyGenerator = (request: FastifyRequest) =>
      (request as unknown as { account: string }).account;
    const options = { ...one, hook: 'preHandler', keyGenerator } as const;
    const keys = ['a', 'a', 'b'];
    return statuses(
      await on.serve({ options, before }),
      keys.map((key) => ({ fields: { 'x-key': key } })),
    );
  }),
  differs(
    'does not limit what no route answers',
    {
      theirs: [404, 404],
      ours: [404, 429],
      because: 'Requests for unknown paths are limited too.',
    },
    async (on) => {
      const missing = { path: '/missing' };
      return statuses(await on.serve({ options: one }), [missing, missing]);
    },
  ),
  same('sends `x-ratelimit-limit` and `-remaining`', ['2', '1', '2', '0'], async (on) => {
    const service = await on.serve({ options: two });
    const answers = [await ask(service), await ask(service)];
    return answers.flatMap(({ headers }) => [
      headers['x-ratelimit-limit'],
      headers['x-ratelimit-remaining'],
    ]);
  }),
  differs(
    'says `x-ratelimit-reset` in seconds from now',
    {
      theirs: '60',
      ours: 'the time by the clock',
      because: 'It is in seconds since 1970, as most servers send it.',
    },
    async (on) => {
      const { headers } = await ask(await on.serve({ options: one }));
      const reset = headers['x-ratelimit-reset'];
      return reset === String(Date.now() / 1_000 + 60) ? 'the time by the clock' : reset;
    },
  ),
  same(
    'sends `ratelimit-limit`, `-remaining` and `-reset` with `enableDraftSpec`',
    ['2', '1', '60'],
    async (on) => {
      const { headers } = await ask(await on.serve({ options: { ...two, enableDraftSpec: true } }));
      return ['limit', 'remaining', 'reset'].map((name) => headers[`ratelimit-${name}`]);
    },
  ),
  same('says in `retry-after` how long the window lasts', '60', async (on) => {
    const service = await on.serve({ options: one });
    await ask(service);
    return (await ask(service)).headers['retry-after'];
  }),
  same(
    'leaves the body to `errorResponseBuilder`',
    { statusCode: 429, message: 'slow down' },
    async (on) => {
      const errorResponseBuilder = () => ({ statusCode: 429, message: 'slow down' });
      const service = await on.serve({ options: { ...one, errorResponseBuilder } });
      await ask(service);
      return JSON.parse((await ask(service)).body);
    },
  ),
  same(
    'tells `onExceeding` of what passes and `onExceeded` of what does not',
    [1, 2],
    async (on) => {
      const told = [0, 0];
      const count = (at: 0 | 1) => () => {
        told[at] = (told[at] ?? 0) + 1;
      };
      const options = { ...one, onExceeding: count(0), onExceeded: count(1) };
      await statuses(await on.serve({ options }), 3);
      return told;
    },
  ),
  differs(
    'answers 403 with `ban` to clients that go on after so many refusals',
    {
      theirs: [200, 429, 403],
      ours: [200, 429, 429],
      because: 'Operators block keys live, with a reason and an end: those get 403.',
    },
    async (on) => statuses(await on.serve({ options: { ...one, ban: 1 } }), 3),
  ),
  differs(
    'begins the window anew at each refusal with `continueExceeding`',
    {
      theirs: [200, 429, 429],
      ours: [200, 429, 200],
      because: 'A refusal does not make the wait longer.',
    },
    (on) => after(on, { options: { ...one, continueExceeding: true } }, [0, 40_000, 40_000]),
  ),
  differs(
    'doubles the wait at each refusal with `exponentialBackoff`',
    {
      theirs: ['60', '120'],
      ours: ['60', '60'],
      because: 'A refusal does not make the wait longer.',
    },
    async (on) => {
      const service = await on.serve({ options: { ...one, exponentialBackoff: true } });
      const answers = [await ask(service), await ask(service), await ask(service)];
      return answers.slice(1).map(({ headers }) => headers['retry-after']);
    },
  ),
  same('passes where the store fails, with `skipOnError`', [200, 200], async (on) =>
    statuses(await on.serve({ options: { ...one, skipOnError: true }, broken: true }), 2),
  ),
  differs(
    'answers 500 where the store fails',
    {
      theirs: 500,
      ours: 503,
      because:
        "`onStoreError: 'deny'` answers 503. The default, `'local'`, goes on counting in this process.",
    },
    async (on) => (await ask(await on.serve({ options: one, broken: true }))).status,
  ),
];

export const fastifyRateLimit: Suite<Subject> = {
  peer: '@fastify/rate-limit',
  cases,
  theirs: () => theirs,
  ours: () => ours,
};
