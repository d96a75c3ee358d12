/** Several processes behind one Redis answer requests with idempotency keys, and some of them are killed. */

import { join } from 'node:path';
import { createLimiter } from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { checkBuilt, type Demo, launch } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const SERVICE = join(import.meta.dirname, 'service.js');

interface Process {
  demo: Demo;
  readonly names: string[];
}

/** So many processes of the service; one that is killed is started again under another name. */
class Fleet {
  readonly processes: Process[] = [];
  /** The names of processes that were killed. */
  readonly killed = new Set<string>();
  private readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async start(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      this.processes.push({ demo: await this.launch(`p${i}`), names: [`p${i}`] });
    }
  }

  async restart(at: number): Promise<void> {
    const process = this.processes[at] as Process;
    this.killed.add(process.names.at(-1) as string);
    process.demo.process.kill('SIGKILL');
    const name = `p${at}.${process.names.length}`;
    process.demo = await this.launch(name);
    process.names.push(name);
  }

  /** Sends a request, to one process after another, until it is answered with 201. */
  async charge(key: string, first: number): Promise<{ token: string; isRepeat: boolean }> {
    for (let attempt = 0; attempt < 400; attempt += 1) {
      const { demo } = this.processes[(first + attempt) % this.processes.length] as Process;
      const response = await fetch(`${demo.url}/charges`, {
        method: 'POST',
        body: `{"charge":"${key}"}`,
        headers: { 'Idempotency-Key': key, 'x-account': 'ada' },
      }).catch(() => undefined);
      const body = await response?.text().catch(() => undefined);
      if (response?.status === 201 && body !== undefined) {
        const isRepeat = response.headers.get('idempotency-replayed') === 'true';
        return { token: JSON.parse(body).token, isRepeat };
      }
      if (response && response.status !== 409 && response.status !== 503) {
        throw new Error(`${key}: ${response.status} ${body}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error(`${key} was never answered`);
  }

  private async launch(name: string): Promise<Demo> {
    const demo = await launch([process.execPath, SERVICE], { REDIS_URL: this.url, NAME: name });
    const { process: child } = demo;
    onTestFinished(() => void child.kill('SIGKILL'));
    return demo;
  }
}

async function setUp(processes: number) {
  const { url, port } = await RedisServer.up();
  const fleet = new Fleet(url);
  await fleet.start(processes);
  const redis = new Redis(port);
  onTestFinished(() => redis.disconnect());
  const used = async (): Promise<number> => {
    const options = { limit: 1_000_000, window: '400d', algorithm: 'fixed-window' } as const;
    const store = redisStore(redis);
    const limiter = createLimiter({ name: 'charges', ...options }, { store, storeTimeout: '5s' });
    return (await limiter.peek('ada')).used;
  };
  return { fleet, redis, used };
}

/** Repeats of each key, at most `width` at a time, in an order that mixes keys. */
async function chargeAll(fleet: Fleet, keys: readonly string[], times: number, width: number) {
  const answers = new Map<string, { token: string; isRepeat: boolean }[]>();
  const jobs = keys.flatMap((key) => Array.from({ length: times }, (_, i) => ({ key, i })));
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let job = jobs.shift(); job; job = jobs.shift()) {
        const answer = await fleet.charge(job.key, job.i);
        answers.set(job.key, [...(answers.get(job.key) ?? []), answer]);
      }
    }),
  );
  return answers;
}

const keysOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `key-${i}`);

beforeAll(() => checkBuilt('core'));

describe.skipIf(redisProgram === null)('processes that share idempotency keys', () => {
  it('run each once, answer all alike and charge one', async () => {
    const { fleet, redis, used } = await setUp(2);
    const keys = keysOf(60);
    const answers = await chargeAll(fleet, keys, 12, 24);
    for (const key of keys) {
      const all = answers.get(key) ?? [];
      expect(new Set(all.map(({ token }) => token)).size).toBe(1);
      expect(all.filter(({ isRepeat }) => !isRepeat)).toHaveLength(1);
      expect(await redis.lrange(`begun:${key}`, 0, -1)).toHaveLength(1);
    }
    expect(await used()).toBe(60);
  });

  it('run none twice though some are killed, but those that died before they had said what they did', async () => {
    const { fleet, redis } = await setUp(3);
    const keys = keysOf(80);
    const charging = chargeAll(fleet, keys, 10, 24);
    for (const victim of [0, 1, 2]) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await fleet.restart(victim);
    }
    const answers = await charging;
    for (const key of keys) {
      const done = await redis.lrange(`done:${key}`, 0, -1);
      const nameOf = (line: string) => line.split(' ')[0] as string;
      const alive = done.filter((line) => !fleet.killed.has(nameOf(line)));
      expect(alive.length, `${key}: ${done}`).toBeLessThanOrEqual(1);
      // Whoever was answered by a process that died before its record was written has its token; all others the last.
      const tokens = new Set(answers.get(key)?.map(({ token }) => token));
      for (const token of tokens) expect(done.join()).toContain(token);
      const repeats = answers.get(key)?.filter(({ isRepeat }) => isRepeat) ?? [];
      expect(new Set(repeats.map(({ token }) => token)).size).toBeLessThanOrEqual(1);
    }
  });
});
