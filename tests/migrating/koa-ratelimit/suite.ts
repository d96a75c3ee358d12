/** The behaviours of koa-ratelimit, gathered from its documentation and from what its tests check. */

import type { Context } from 'koa';
import { type Case, differs, type Suite, same } from '../cases.js';
import { ask, passes, statuses } from '../world.js';
import { type Options, ours, type Subject, theirs } from './subject.js';

const one = { max: 1, duration: 60_000 } as const;
const other = { from: '203.0.113.2' } as const;

/** The second response, with a limit of one. */
async function refusal(on: Subject, options: Options) {
  const service = await on.serve({ ...one, ...options });
  await ask(service);
  return ask(service);
}

const cases: readonly Case<Subject>[] = [
  same('lets `max` requests of a client pass', [200, 200, 429], async (on) =>
    statuses(await on.serve({ ...one, max: 2 }), 3),
  ),
  same('counts each address by itself', [200, 429, 200], async (on) =>
    statuses(await on.serve(one), [{}, {}, other]),
  ),
  same('counts what `id` says', [200, 429, 200], async (on) => {
    const id = (ctx: Context) => String(ctx.query['user']);
    const users = ['a', 'a', 'b'];
    return statuses(
      await on.serve({ ...one, id }),
      users.map((user) => ({ path: `/?user=${user}` })),
    );
  }),
  same('does not count where `id` is false', [200, 200], async (on) =>
    statuses(await on.serve({ ...one, id: () => false }), 2),
  ),
  same('admits again after `duration`', [200, 429, 200], async (on) => {
    const service = await on.serve(one);
    const before = await statuses(service, 2);
    await passes(60_001);
    return [...before, ...(await statuses(service, 1))];
  }),
  same('begins the window with the first request of a client', [200, 429], async (on) => {
    await passes(20_000);
    const service = await on.serve(one);
    const before = await statuses(service, 1);
    await passes(59_000);
    return [...before, ...(await statuses(service, 1))];
  }),
  same('does not count what `whitelist` names', [200, 200, 200, 429], async (on) => {
    const whitelist = async (ctx: Context) => ctx.path === '/health';
    const service = await on.serve({ ...one, whitelist });
    return statuses(service, [{ path: '/health' }, { path: '/health' }, {}, {}]);
  }),
  differs(
    'answers 403 to what `blacklist` names',
    {
      theirs: [403, 200],
      ours: [200, 200],
      because:
        'No function blocks. A line of middleware in front does, and operators block keys live.',
    },
    async (on) => {
      const blacklist = (ctx: Context) => ctx.path === '/.env';
      return statuses(await on.serve({ max: 5, blacklist }), [{ path: '/.env' }, {}]);
    },
  ),
  same('counts together where two have one `db` and one `namespace`', [200, 429], async (on) =>
    statuses(await on.serve({ ...one, max: 3 }, { ...one, max: 3 }), 2),
  ),
  same('counts apart where the `namespace` is another', [200, 200], async (on) =>
    statuses(
      await on.serve({ ...one, max: 2, namespace: 'a' }, { ...one, max: 2, namespace: 'b' }),
      2,
    ),
  ),
  same('sends `X-RateLimit-Limit` and `-Remaining`', ['2', '1', '2', '0'], async (on) => {
    const service = await on.serve({ ...one, max: 2 });
    const answers = [await ask(service), await ask(service)];
    return answers.flatMap(({ headers }) => [
      headers['x-ratelimit-limit'],
      headers['x-ratelimit-remaining'],
    ]);
  }),
  differs(
    'writes a fraction of a second into `X-RateLimit-Reset`, in memory',
    {
      theirs: true,
      ours: false,
      because: 'It is in whole seconds, as clients read it.',
    },
    async (on) => {
      await passes(1_500);
      const { headers } = await ask(await on.serve(one));
      return String(headers['x-ratelimit-reset']).includes('.');
    },
  ),
  same('sends none of them with `disableHeader`', undefined, async (on) => {
    const { headers } = await ask(await on.serve({ ...one, disableHeader: true }));
    return headers['x-ratelimit-limit'];
  }),
  differs(
    'sends them under names of your own with `headers`',
    {
      theirs: '1',
      ours: undefined,
      because: 'The names are those of the drafts, or `X-RateLimit-*`.',
    },
    async (on) => {
      const { headers } = await ask(await on.serve({ ...one, headers: { total: 'Rate-Total' } }));
      return headers['rate-total'];
    },
  ),
  differs(
    'rounds `Retry-After` down',
    {
      theirs: ['59', 429],
      ours: ['60', 200],
      because: 'A client that waits for `Retry-After` gets in.',
    },
    async (on) => {
      const service = await on.serve(one);
      await ask(service);
      await passes(100);
      const { headers } = await ask(service);
      await passes(Number(headers['retry-after']) * 1_000);
      return [headers['retry-after'], (await ask(service)).status];
    },
  ),
  differs(
    'refuses with a text that names the wait',
    {
      theirs: 'Rate limit exceeded, retry in 1 minute.',
      ours: 'Quota exceeded',
      because: 'The body is a problem document (RFC 9457). `onRejected` writes another.',
    },
    async (on) => {
      const { body } = await refusal(on, {});
      return body.startsWith('{') ? JSON.parse(body).title : body;
    },
  ),
  same('refuses with `errorMessage` and `status`', [420, 'slow down'], async (on) => {
    const { status, body } = await refusal(on, { errorMessage: 'slow down', status: 420 });
    return [status, body];
  }),
  same('sends an object in `errorMessage` as JSON', '{"error":"slow down"}', async (on) => {
    return (await refusal(on, { errorMessage: { error: 'slow down' } })).body;
  }),
  same('throws with `throw`, so that the app answers', [429, 'thrown: slow down'], async (on) => {
    const { status, body } = await refusal(on, { throw: true, errorMessage: 'slow down' });
    return [status, body];
  }),
  same('tells `onLimited` of each refusal', 2, async (on) => {
    let told = 0;
    const onLimited = () => {
      told += 1;
    };
    await statuses(await on.serve({ ...one, errorMessage: 'no', onLimited }), 3);
    return told;
  }),
];

export const koaRatelimit: Suite<Subject> = {
  peer: 'koa-ratelimit',
  cases,
  theirs,
  ours: () => ours,
};
