/** One client at two hundred times its limit: what its rejections cost Redis. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { checkBuilt } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const ATTACKER = join(import.meta.dirname, 'attacker.js');
const exec = promisify(execFile);
const LIMIT = 10;
const FACTOR = 200;
const SECONDS = 4;

beforeAll(() => checkBuilt('express'));

describe.skipIf(redisProgram === null)('a client at two hundred times its limit', () => {
  it.each([1, 2])(
    'costs Redis a call for every hundred refusals at most, for each of %d processes',
    async (processes) => {
      const redis = await RedisServer.up();
      const client = new Redis(redis.port);
      onTestFinished(() => client.disconnect());
      const rate = (LIMIT * FACTOR) / processes;
      const args = [ATTACKER, redis.port, LIMIT, rate, SECONDS * 1000].map(String);
      const runs = Array.from({ length: processes }, () => exec(process.execPath, args));
      const results = (await Promise.all(runs)).map(({ stdout }) => JSON.parse(stdout));
      const refused = sum(results.map((result) => result.refused));
      const admitted = sum(results.map((result) => result.admitted));
      // Exactly the limit: one at once, then ten a second.
      expect(admitted).toBeGreaterThan(LIMIT * SECONDS * 0.8);
      expect(admitted).toBeLessThanOrEqual(1 + LIMIT * (SECONDS + 2));
      expect(refused).toBeGreaterThan(LIMIT * FACTOR * SECONDS * 0.8);
      const stats = await client.info('commandstats');
      const calls = Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]);
      const forRefusals = calls - admitted - processes; // each has warmed up with one
      expect(forRefusals / refused).toBeGreaterThan(0);
      expect(forRefusals / refused).toBeLessThan(0.01 * processes);
    },
  );
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
