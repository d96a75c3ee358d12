/** What each simulated process runs: core, shapers and the store on Redis, over the simulated network. */

import type { Link, Program } from '@spillway/conformance/simulator';
import * as core from '@spillway/core';
import { type RedisClient, redisControl, redisStore } from '@spillway/redis';

export { fetchGuard } from '@spillway/core/fetch';
export { withDebt } from '@spillway/core/store';
export { createShaper } from '@spillway/outgoing';
export { core };

export const open: Program['open'] = (link) => redisStore(clientOf(link), { logger: false });

export const openControl: Program['openControl'] = (link) => redisControl(clientOf(link));

const clients = new WeakMap<Link, RedisClient>();

function clientOf(link: Link): RedisClient {
  const client = clients.get(link) ?? {
    get state() {
      return link.state;
    },
    evalsha: (sha, keys, args) => link.send({ sha, keys, args }),
    eval: (text, keys, args) => link.send({ text, keys, args }),
    onceChanged: (listener) => link.onceChanged(listener),
  };
  clients.set(link, client);
  return client;
}
