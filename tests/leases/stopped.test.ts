/** A process that is stopped by a signal leaves none of its permits behind. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type LeasesAnswer, makeLeasesRule } from '@spillway/core/store';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { checkBuilt } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, expect, it, onTestFinished } from 'vitest';

const PERMITS = 4_000;

beforeAll(() => checkBuilt('core'));

it.skipIf(redisProgram === null)(
  'thousands of permits are back before a process that was told to stop has ended',
  async () => {
    const { url, port } = await RedisServer.up();
    const redis = new Redis(port);
    onTestFinished(() => redis.disconnect());
    const store = redisStore(redis);
    const live = async (): Promise<number> => {
      const rule = makeLeasesRule(100_000, 60_000_000);
      const look = { op: 'look', limiter: 'shared', key: 'fleet', rule, cost: 1 } as const;
      const [answer] = await store.apply([{ ...look, binding: true }]);
      return (answer as LeasesAnswer).used;
    };
    const script = join(import.meta.dirname, 'stopped.js');
    const child = spawn(process.execPath, [script, url, `${PERMITS}`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    expect(await live()).toBe(PERMITS);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(await live()).toBe(0);
  },
);
