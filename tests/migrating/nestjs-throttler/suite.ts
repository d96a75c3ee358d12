/** The behaviours of @nestjs/throttler, gathered from its documentation and from what its tests check. */

import { type Case, differs, type Suite, same } from '../cases.js';
import { ask, passes, statuses } from '../world.js';
import { ours, type Subject, theirs } from './subject.js';

const LIST = { path: '/cats/list' } as const;
const ONE = { path: '/cats/one' } as const;
const two = { limit: 2, ttl: 10_000 } as const;
const one = { limit: 1, ttl: 10_000 } as const;
const MESSAGE = 'slow down';

const cases: readonly Case<Subject>[] = [
  same('lets `limit` requests of a client to a handler pass', [200, 200, 429], async (on) =>
    statuses(await on.serve({ options: [two] }), [LIST, LIST, LIST]),
  ),
  same('counts each handler by itself', [200, 200, 429, 200], async (on) =>
    statuses(await on.serve({ options: [two] }), [LIST, LIST, LIST, ONE]),
  ),
  same('counts each address by itself', [200, 429, 200], async (on) => {
    const other = { ...LIST, from: '203.0.113.2' };
    return statuses(await on.serve({ options: [one] }), [LIST, LIST, other]);
  }),
  differs(
    "believes the proxies that the platform is told of, as in `app.set('trust proxy', 1)`",
    {
      theirs: [200, 200],
      ours: [200, 429],
      because: 'The module has an option for it, on every platform: `trustProxy: 1`.',
    },
    async (on) => {
      const other = { ...LIST, from: '203.0.113.2' };
      return statuses(await on.serve({ options: [one], trustProxy: 0 }), [LIST, other]);
    },
  ),
  same('counts all addresses of an IPv6 /64 as one client', [200, 429], async (on) => {
    const addresses = ['2001:db8:0:1::1', '2001:db8:0:1::2'];
    return statuses(
      await on.serve({ options: [one] }),
      addresses.map((from) => ({ ...LIST, from })),
    );
  }),
  same('counts what `getTracker` says', [200, 429, 200], async (on) => {
    const getTracker = async (req: Record<string, unknown>) =>
      (req['query'] as { user: string }).user;
    const service = await on.serve({ options: { throttlers: [one], getTracker } });
    return statuses(
      service,
      ['a', 'a', 'b'].map((user) => ({ path: `/cats/list?user=${user}` })),
    );
  }),
  same('asks a function for the limit', [200, 429], async (on) =>
    statuses(await on.serve({ options: [{ ...two, limit: async () => 1 }] }), [LIST, LIST]),
  ),
  same('refuses where one of several throttlers does', [200, 200, 429, 200, 429], async (on) => {
    const options = [
      { name: 'short', limit: 2, ttl: 1_000 },
      { name: 'long', limit: 3, ttl: 60_000 },
    ];
    const service = await on.serve({ options });
    const first = await statuses(service, [LIST, LIST, LIST]);
    await passes(1_000);
    return [...first, ...(await statuses(service, [LIST, LIST]))];
  }),
  same('takes the numbers of `@Throttle` on a method', [200, 429, 200, 200, 429], async (on) => {
    const controllers = { cats: { list: { throttle: { default: one } }, one: {} } };
    const service = await on.serve({ options: [two], controllers });
    return statuses(service, [LIST, LIST, ONE, ONE, ONE]);
  }),
  same(
    'takes those of `@Throttle` on a class for each of its methods',
    [200, 429, 200, 429],
    async (on) => {
      const classes = { cats: { throttle: { default: one } } };
      return statuses(await on.serve({ options: [two], classes }), [LIST, LIST, ONE, ONE]);
    },
  ),
  same('switches a throttler off with `@SkipThrottle`', [200, 200, 200, 429], async (on) => {
    const controllers = { cats: { list: { skip: { default: true } }, one: {} } };
    const service = await on.serve({ options: [one], controllers });
    return statuses(service, [LIST, LIST, ONE, ONE]);
  }),
  same('switches off only the throttlers that are named', [200, 200, 429], async (on) => {
    const options = [
      { name: 'short', ...one },
      { name: 'long', limit: 2, ttl: 60_000 },
    ];
    const controllers = { cats: { list: { skip: { short: true } } } };
    return statuses(await on.serve({ options, controllers }), [LIST, LIST, LIST]);
  }),
  differs(
    'switches a throttler on again for a method with `@SkipThrottle({ default: false })`',
    {
      theirs: [200, 200, 200, 429],
      ours: [200, 200, 200, 200],
      because: 'What a class skips stays off. Write the limit on the method again: `@RateLimit`.',
    },
    async (on) => {
      const classes = { cats: { skip: { default: true } } };
      const controllers = { cats: { list: {}, one: { skip: { default: false } } } };
      const service = await on.serve({ options: [one], classes, controllers });
      return statuses(service, [LIST, LIST, ONE, ONE]);
    },
  ),
  same('does not count what `skipIf` names', [200, 200, 200, 429], async (on) => {
    const skipIf = (context: { getHandler(): { name: string } }) =>
      context.getHandler().name === 'list';
    const service = await on.serve({ options: { throttlers: [one], skipIf } });
    return statuses(service, [LIST, LIST, ONE, ONE]);
  }),
  same('does not count what `ignoreUserAgents` names', [200, 200, 200, 429], async (on) => {
    const options = { throttlers: [one], ignoreUserAgents: [/probe/] };
    const probe = { ...LIST, fields: { 'user-agent': 'probe/1' } };
    const agent = { ...LIST, fields: { 'user-agent': 'curl/8' } };
    return statuses(await on.serve({ options }), [probe, probe, agent, agent]);
  }),
  same('frees what is older than `ttl` one by one', [200, 200, 200, 200], async (on) => {
    const service = await on.serve({ options: [two] });
    const seen: number[] = [];
    for (const pause of [0, 5_000, 6_000, 5_000]) {
      await passes(pause);
      seen.push(...(await statuses(service, [LIST])));
    }
    return seen;
  }),
  differs(
    'refuses for a whole `ttl` after a refusal',
    {
      theirs: [200, 200, 429, 429],
      ours: [200, 200, 429, 200],
      because: 'A refusal does not make the wait longer.',
    },
    async (on) => {
      const service = await on.serve({ options: [two] });
      const seen: number[] = [];
      for (const pause of [0, 5_000, 1_000, 5_000]) {
        await passes(pause);
        seen.push(...(await statuses(service, [LIST])));
      }
      return seen;
    },
  ),
  differs(
    'refuses for `blockDuration` after a refusal',
    {
      theirs: [200, 429, 429],
      ours: [200, 429, 200],
      because: 'No block begins by itself: [how to make one](../recipes/login.md).',
    },
    async (on) => {
      const service = await on.serve({ options: [{ ...one, blockDuration: 60_000 }] });
      const first = await statuses(service, [LIST, LIST]);
      await passes(11_000);
      return [...first, ...(await statuses(service, [LIST]))];
    },
  ),
  same('asks a function for `ttl`', [200, 429, 200], async (on) => {
    const service = await on.serve({ options: [{ ...one, ttl: () => 10_000 }] });
    const first = await statuses(service, [LIST, LIST]);
    await passes(11_000);
    return [...first, ...(await statuses(service, [LIST]))];
  }),
  same('says in `Retry-After` when to come again', '10', async (on) => {
    const service = await on.serve({ options: [one] });
    await ask(service, LIST);
    return (await ask(service, LIST)).headers['retry-after'];
  }),
  differs(
    'says `X-RateLimit-Reset` in seconds from now',
    {
      theirs: ['2', '1', '10'],
      ours: ['2', '1', 'the time by the clock'],
      because: 'It is in seconds since 1970, as most servers send it.',
    },
    async (on) => {
      const { headers } = await ask(await on.serve({ options: [two] }), LIST);
      const reset = headers['x-ratelimit-reset'];
      const clock = String(Date.now() / 1_000 + 10);
      return [
        headers['x-ratelimit-limit'],
        headers['x-ratelimit-remaining'],
        reset === clock ? 'the time by the clock' : reset,
      ];
    },
  ),
  differs(
    'has fields for each throttler that has a name, such as `X-RateLimit-Limit-short`',
    {
      theirs: [undefined, '2', undefined],
      ours: ['2', undefined, undefined],
      because: '`X-RateLimit-*` tells of the tightest limit, `RateLimit` of each by its name.',
    },
    async (on) => {
      const service = await on.serve({ options: [{ name: 'short', ...two }] });
      const { headers } = await ask(service, LIST);
      const suffixes = ['', '-short', '-default'];
      return suffixes.map((suffix) => headers[`x-ratelimit-limit${suffix}`]);
    },
  ),
  same('sends none of them with `setHeaders: false`', undefined, async (on) => {
    const service = await on.serve({ options: { throttlers: [one], setHeaders: false } });
    return (await ask(service, LIST)).headers['x-ratelimit-limit'];
  }),
  same('refuses with `errorMessage`', { statusCode: 429, message: MESSAGE }, async (on) => {
    const service = await on.serve({ options: { throttlers: [one], errorMessage: MESSAGE } });
    await ask(service, LIST);
    return JSON.parse((await ask(service, LIST)).body);
  }),
  same('throws an HttpException that filters see', [400, '{"status":429}'], async (on) => {
    const onError = (error: unknown) => ({
      status: (error as { getStatus(): number }).getStatus(),
    });
    const service = await on.serve({ options: [one], onError });
    await ask(service, LIST);
    const { status, body } = await ask(service, LIST);
    return [status, body];
  }),
];

export const nestjsThrottler: Suite<Subject> = {
  peer: '@nestjs/throttler',
  cases,
  theirs: () => theirs,
  ours: () => ours,
};
