/** What each simulated process runs: core, shapers and the store on Redis, over the simulated network. */

import type { Link, Program } from '@spillway/conformance/simulator';
import * as core from '@spillway/core';
import { redisStore } from '@spillway/redis';

export { fetchGuard } from '@spillway/core/fetch';
export { createShaper } from '@spillway/outgoing';
export { core };

export const open: Program['open'] = (link: Link) =>
  redisStore(
    {
      get state() {
        return link.state;
      },
      evalsha: (sha, keys, args) => link.send({ sha, keys, args }),
      eval: (text, keys, args) => link.send({ text, keys, args }),
      onceChanged: (listener) => link.onceChanged(listener),
    },
    { logger: false },
  );
