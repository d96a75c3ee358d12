/**
 * Finds out in which async context a delayed callback runs, on any runtime. As a Worker, it responds with the result.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { memoryStore, rateLimit } from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { remoteStore } from '@spillway/core/store';
import { createShaper, pacedFetch } from '@spillway/outgoing';

const USERS = 50;

/** Calls of `[callback, user, context it ran in]`. */
export async function contexts() {
  const users = new AsyncLocalStorage();
  const seen = [];
  const note = (callback, user) => seen.push([callback, user, users.getStore() ?? null]);
  const memory = memoryStore();
  const later = remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
  const pace = { limit: 1_000, window: '1s', maxWait: '1m' };
  const shaper = createShaper({ name: 'calls', ...pace }, { store: later, localShare: 1 });
  const paced = createShaper({ name: 'partner', ...pace }, { store: later, localShare: 1 });
  const send = pacedFetch(paced, {
    key: ({ url }) => String(url.length % 3),
    fetch: async (url) => {
      note('fetch', new URL(url).pathname.slice(1));
      return new Response(null);
    },
  });
  const userOf = ({ raw }) => new URL(raw.url).pathname.slice(1);
  const keyOf = (request) => {
    note('key', userOf(request));
    return 'all';
  };
  const guard = fetchGuard(
    rateLimit({
      name: 'api',
      limit: 5,
      window: '1m',
      key: keyOf,
    }),
    {
      store: later,
      logger: false,
      clientIp: () => '203.0.113.7',
      onDecision: (_, __, request) => note('onDecision', userOf(request)),
    },
  );
  const handler = guard.wrap(async (request) => {
    note('handler', userOf({ raw: request }));
    return new Response('done');
  });
  const names = Array.from({ length: USERS }, (_, at) => `u${at}`);
  await Promise.all(
    names.map((user) =>
      users.run(user, async () => {
        await handler(new Request(`https://api.example/${user}`));
        await shaper.schedule('acme', () => note('work', user));
        await send(`https://partner.example/${user}`);
        note('after', user);
      }),
    ),
  );
  await Promise.all([shaper.close(), paced.close()]);
  return seen;
}

export default {
  fetch: async () => Response.json(await contexts()),
};
