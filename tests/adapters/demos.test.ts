/** One behaviour everywhere: the same suite over HTTP passes on every demo. */

import { once } from 'node:events';
import { adapterConformance } from '@spillway/conformance';
import { checkBuilt, type Demo, launch } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { afterAll, beforeAll, describe, it, vi } from 'vitest';
import { type DemoKind, demos } from './demos.js';

/** Most checks wait for a demo, so two demos are checked at once. More would keep each other from the processor. */
vi.setConfig({ maxConcurrency: 2 });

const SETTINGS = { FOUR: '1', LIMIT: '5', WINDOW: '1h', TRUST_PROXY: '1' };

/** By name: `%s` prints the name without quotes, so `-t "Fastify answers"` finds it. `$name` would add quotes. */
const named = (kinds: readonly DemoKind[]) => kinds.map((kind) => [kind.name, kind] as const);

describe.concurrent.each(named(demos))('%s', (_, kind) => proves(kind));

const speaking = demos.filter(({ speaksToRedis }) => speaksToRedis);
describe.skipIf(redisProgram === null).concurrent.each(named(speaking))(
  '%s, counting in Redis,',
  (_, kind) => {
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
  for (const { name, run } of adapterConformance(target, options)) it.sequential(name, run);
}
