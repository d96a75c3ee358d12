/** Processes share the pace of a shaper on a real Redis. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { checkBuilt } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const LIMIT = 20;
const PERIOD_MS = 1_000 / LIMIT;
const JOBS = 25;

/** The clock of this machine as a process reads it, and as Redis does, may differ by so much. */
const CLOCKS_MS = 2;

interface Said {
  readonly slotMs: readonly number[];
  readonly startMs: readonly number[];
}

/** What a process has written when it ends. */
async function run(script: string, ...args: readonly string[]): Promise<string> {
  const file = join(import.meta.dirname, script);
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += String(chunk);
  });
  const [code] = await once(child, 'close');
  expect(code).toBe(0);
  return text;
}

async function work(url: string): Promise<Said> {
  const text = await run('paced-worker.js', url, `${LIMIT}`, `${JOBS}`);
  const lines = text.trim().split('\n');
  const told = lines.map((line): Record<string, number> => JSON.parse(line));
  const of = (name: string) => told.flatMap((one) => one[name] ?? []);
  return { slotMs: of('slotMs'), startMs: of('startMs') };
}

const ascending = (all: readonly number[]) => [...all].sort((a, b) => a - b);

beforeAll(() => checkBuilt('express'));

describe.skipIf(redisProgram === null)('two processes with one shaper', () => {
  it('share its pace: every job starts, one in each slot, and none before it', async () => {
    const redis = await RedisServer.up();
    const said = await Promise.all([work(redis.url), work(redis.url)]);
    const slots = ascending(said.flatMap(({ slotMs }) => slotMs));
    const starts = ascending(said.flatMap(({ startMs }) => startMs));
    expect(starts).toHaveLength(2 * JOBS);
    expect(slots.length).toBeGreaterThanOrEqual(starts.length);
    const gaps = slots.slice(1).map((ms, at) => ms - (slots[at] as number));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(PERIOD_MS - 0.001);
    for (const [at, ms] of starts.entries()) {
      expect(ms).toBeGreaterThanOrEqual((slots[at] as number) - CLOCKS_MS);
    }
  });
});

it('a process lives until its jobs have run, and no longer', { timeout: 20_000 }, async () => {
  expect(await run('waiting-job.js')).toBe('ran aborted ran ran ');
});
