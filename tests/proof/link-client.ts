/** A client of the store on a simulated connection. */

import type { Link } from '@spillway/conformance/simulator';
import type { RedisClient } from '@spillway/redis';

const clients = new WeakMap<Link, RedisClient>();

/** The client of a connection. Each connection has only one. */
export function clientOf(link: Link): RedisClient {
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
