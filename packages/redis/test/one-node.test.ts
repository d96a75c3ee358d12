/** A client for a single server, connected to a node of a Cluster. */

import { createLimiter } from '@spillway/core';
import type { Redis } from 'ioredis';
import { redisProgram, useCluster } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { redisControl, redisStore } from '../src/index.js';

const SAYS =
  /the call to Redis failed: (MOVED|CROSSSLOT); this Redis is a node of a Cluster: pass a client for clusters, such as new Cluster\(\[\.\.\.\]\)/;

describe.skipIf(redisProgram === null)('one node of a Cluster', () => {
  const { nodes } = useCluster();

  it('is told of in the log, with what to pass', async () => {
    const lines: string[] = [];
    const limiter = createLimiter(
      { name: 'api', limit: 100, window: '1m' },
      {
        store: redisStore(nodes[0] as Redis, { logger: false }),
        storeTimeout: '5s', // a slow machine is not an outage
        logger: { warn: (line) => lines.push(line) },
      },
    );
    const keys = Array.from({ length: 20 }, (_, at) => `key-${at}`);
    for (const key of keys) await limiter.consume(key);
    // Decisions of one turn share a call, so it has keys of several slots.
    await Promise.all(keys.map((key) => limiter.consume(key)));
    expect(lines.map((line) => SAYS.exec(line)?.[1])).toEqual(['MOVED', 'CROSSSLOT']);
  });

  it('is told of where a setting is changed', async () => {
    const note = { by: 'ada', because: 'a test' };
    const changes = nodes.map(async (node) => {
      const control = redisControl(node);
      onTestFinished(() => control.close());
      await control.set('api', { mode: 'off' }, note);
    });
    const ends = await Promise.allSettled(changes);
    const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason.message] : []));
    // Live settings are in one slot, so two nodes reject the change.
    expect(errors).toEqual([expect.stringMatching(SAYS), expect.stringMatching(SAYS)]);
  });
});
