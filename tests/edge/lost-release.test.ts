/** A lost release is sent again after a third of the lease, even where a timer ends with the request that set it. */

import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Miniflare } from 'miniflare';
import { delay, runningMs } from 'spillway-testkit';
import { redisProgram, startServer } from 'spillway-testkit/redis';
import { UpstashServer } from 'spillway-testkit/upstash';
import { bundleForWorker } from 'spillway-testkit/worker-bundle';
import { describe, expect, it, onTestFinished } from 'vitest';

const THIRD_MS = 4_000;

describe.skipIf(redisProgram === null)('a Worker that lost a release', () => {
  it('is free again when a third of the lease is over', async () => {
    const server = await startServer();
    const redis = new Redis(server.port);
    const http = await UpstashServer.start(redis);
    const { text } = await bundleForWorker(join(import.meta.dirname, 'lost-worker.js'));
    const miniflare = new Miniflare({
      script: text,
      modules: true,
      compatibilityDate: '2026-04-01',
      bindings: { url: http.url, token: http.token },
      port: 0,
    });
    onTestFinished(async () => {
      await miniflare.dispose();
      await http.stop();
      redis.disconnect();
      await server.kill();
    });
    const origin = await miniflare.ready;
    const ask = async (ms: number) => {
      const response = await fetch(new URL(`/?ms=${ms}`, origin));
      await response.text();
      return response.status;
    };
    expect(await ask(0)).toBe(200);
    const running = ask(400);
    await delay(200);
    http.fault = 'hang';
    expect(await running).toBe(200);
    await delay(1_500);
    http.fault = 'none';
    const lostMs = await runningMs(async () => {
      while ((await ask(0)) !== 200) await delay(100);
    });
    expect(lostMs).toBeLessThan(THIRD_MS + 1_500);
  }, 30_000);
});
