/** Live settings in a fleet: every process follows within a second, and they expire everywhere at the same moment. */

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type RedisControl, redisControl } from '@spillway/redis';
import { Redis } from 'ioredis';
import { checkBuilt } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';

const FOLLOWER = join(import.meta.dirname, 'control-follower.js');
const PROCESSES = 4;
const CHANGES = 10;
/** What is promised. */
const STALE_MS = 1_000;
const soon = { timeout: 10_000, interval: 5 };
const ada = { by: 'ada', because: 'a test' } as const;

interface Told {
  readonly outcome: string;
  readonly atMs: number;
}

beforeAll(() => checkBuilt('express'));

/** A process, with everything that it has reported so far. */
class Follower {
  readonly told: Told[] = [];
  private readonly child: ChildProcess;

  constructor(url: string) {
    this.child = spawn(process.execPath, [FOLLOWER, url], { stdio: ['ignore', 'pipe', 'inherit'] });
    const { stdout } = this.child;
    if (stdout) createInterface(stdout).on('line', (line) => this.told.push(JSON.parse(line)));
    onTestFinished(() => void this.child.kill('SIGKILL'));
  }

  /** Waits until the process decides so. Returns when it began to. */
  until(outcome: string): Promise<number> {
    return vi.waitFor(() => {
      const last = this.told.at(-1);
      expect(last?.outcome).toBe(outcome);
      return last?.atMs ?? Number.NaN;
    }, soon);
  }
}

async function fleet() {
  const server = await RedisServer.up();
  const redis = new Redis(server.url);
  redis.on('error', () => {});
  onTestFinished(() => redis.disconnect());
  const control: RedisControl = redisControl(redis);
  onTestFinished(() => control.close());
  const followers = Array.from({ length: PROCESSES }, () => new Follower(server.url));
  const all = (outcome: string) => Promise.all(followers.map((one) => one.until(outcome)));
  await all('denied');
  return { server, control, all, followers };
}

describe.skipIf(redisProgram === null)('the processes of a fleet', () => {
  it('follow each change within a second', async () => {
    const { control, all } = await fleet();
    const delays: number[] = [];
    for (let i = 0; i < CHANGES; i += 1) {
      const [mode, outcome] =
        i % 2 === 0 ? (['off', 'skipped'] as const) : (['enforce', 'denied'] as const);
      const fromMs = Date.now();
      await control.set('api', { mode }, ada);
      for (const atMs of await all(outcome)) delays.push(atMs - fromMs);
    }
    expect(delays).toHaveLength(PROCESSES * CHANGES);
    expect(Math.max(...delays)).toBeLessThan(STALE_MS);
  });

  it('let go of what ends at the same moment', async () => {
    const { control, all } = await fleet();
    await control.set('api', { mode: 'off' }, { ...ada, for: '2s' });
    const [set] = await control.list();
    await all('skipped');
    const lateMs = (await all('denied')).map((atMs) => atMs - (set?.untilMs ?? Number.NaN));
    // Not earlier, except for rounding between two clocks. Later only by what a busy machine takes.
    expect(Math.min(...lateMs)).toBeGreaterThan(-5);
    expect(Math.max(...lateMs)).toBeLessThan(500);
  });

  it('keep what is set while Redis is frozen, and follow within a second when it goes on', async () => {
    const { server, control, all, followers } = await fleet();
    await control.set('api', { mode: 'off' }, { ...ada, for: 'forever' });
    await all('skipped');
    server.freeze();
    const change = control.set('api', { mode: 'shadow' }, ada);
    const before = followers.map(({ told }) => told.length);
    const frozenMs = Date.now();
    // Several looks go unanswered.
    await vi.waitFor(() => expect(Date.now() - frozenMs).toBeGreaterThan(1_500), soon);
    expect(followers.map(({ told }) => told.length)).toEqual(before);
    server.thaw();
    const thawedMs = Date.now();
    await change;
    const delays = (await all('would-deny')).map((atMs) => atMs - thawedMs);
    expect(Math.max(...delays)).toBeLessThan(STALE_MS);
  });
});
