/** One behaviour everywhere: the same suite over HTTP passes on every demo. */

import { once } from 'node:events';
import { adapterConformance } from '@spillway/conformance';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { checkBuilt, type Demo, launch, RedisServer, redisProgram } from '../fleet/processes.js';
import { type DemoKind, demos } from './demos.js';

const SETTINGS = { FOUR: '1', LIMIT: '5', WINDOW: '1h', TRUST_PROXY: '1' };

describe.each(demos)('$name', (kind) => proves(kind));

describe.skipIf(redisProgram === null).each(demos.filter(({ speaksToRedis }) => speaksToRedis))(
  '$name, counting in Redis,',
  (kind) => {
    let redis: RedisServer;
    let endRedis: () => void = () => undefined;
    beforeAll(async () => {
      redis = await RedisServer.up((end) => {
        endRedis = end;
      });
    });
    afterAll(() => endRedis());
    proves(kind, () => ({ REDIS_URL: redis.url }));
  },
);

function proves(
  { adapter, command, env, options }: DemoKind,
  more: () => Readonly<Record<string, string>> = () => ({}),
): void {
  let demo: Demo | undefined;
  beforeAll(async () => {
    checkBuilt(adapter);
    demo = await launch(command(), { ...SETTINGS, ...env, ...more() });
  });
  afterAll(async () => {
    if (!demo || demo.process.exitCode !== null) return;
    const ended = once(demo.process, 'exit');
    demo.process.kill('SIGTERM');
    // A handler may not have noticed yet that its client is gone.
    const timer = setTimeout(() => demo?.process.kill('SIGKILL'), 2_000);
    await ended;
    clearTimeout(timer);
  });
  const target = { url: () => demo?.url ?? '' };
  for (const { name, run } of adapterConformance(target, options)) it(name, run);
}
