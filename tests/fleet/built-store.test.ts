/** The build of the Redis store decides as its sources do. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkBuilt } from 'spillway-testkit/processes';
import { RedisServer } from 'spillway-testkit/redis';
import { beforeAll, expect, it } from 'vitest';

const exec = promisify(execFile);

beforeAll(() => checkBuilt('conformance'));

it('passes the conformance suite', async () => {
  const server = await RedisServer.up();
  const program = join(import.meta.dirname, 'built-store.js');
  const { stdout } = await exec(process.execPath, [program, server.url], { timeout: 120_000 });
  const { checks, failed } = JSON.parse(stdout) as { checks: number; failed: string[] };
  expect(failed).toEqual([]);
  expect(checks).toBeGreaterThan(100);
}, 150_000);
