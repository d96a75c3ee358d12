/**
 * Processes share the pace of a shaper on a real Redis. Slots and starts are measured by the clock of Redis. A busy
 * machine makes starts late, which is allowed, but never early.
 */

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { checkBuilt } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const LIMIT = 40;
const PERIOD_MS = 1_000 / LIMIT;
const PROCESSES = 8;

/** What a process tells. */
type Told =
  | { readonly slotMs: number }
  | { readonly startMs: number }
  | { readonly isGivenBack: true }
  | { readonly isAborted: true };

/** One process of the fleet, and what it has reported so far. */
class Worker {
  readonly process: ChildProcess;
  readonly jobs: number;
  readonly slots: number[] = [];
  readonly starts: number[] = [];
  givenBack = 0;
  aborted = 0;
  private readonly ready: Promise<unknown>;
  private readonly exit: Promise<unknown>;

  constructor(url: string, jobs: number, abortShare: number, killAfter: number) {
    const args = [url, `${LIMIT}`, `${jobs}`, `${abortShare}`];
    this.jobs = jobs;
    this.process = fork(join(import.meta.dirname, 'paced-worker.js'), args, { execArgv: [] });
    onTestFinished(() => void this.process.kill('SIGKILL'));
    this.ready = once(this.process, 'message');
    this.exit = once(this.process, 'close');
    this.process.on('message', (told: Told) => {
      if ('slotMs' in told) this.slots.push(told.slotMs);
      else if ('isGivenBack' in told) this.givenBack += 1;
      else if ('isAborted' in told) this.aborted += 1;
      else if ('startMs' in told) {
        this.starts.push(told.startMs);
        if (this.starts.length === killAfter) this.process.kill('SIGKILL');
      }
    });
  }

  async begin(): Promise<void> {
    await Promise.race([this.ready, this.exit]);
    this.process.send('begin');
  }

  /** Waits for the end of the process. Returns its exit code. */
  async end(): Promise<unknown> {
    const [code] = (await this.exit) as [unknown];
    return code;
  }
}

interface Fleet {
  readonly workers: readonly Worker[];
  readonly codes: readonly unknown[];
}

/** Runs eight processes to their end. `killAfter`: the first process is killed after this many of its own starts. */
async function run(jobs: number, abortShare: number, killAfter = Infinity): Promise<Fleet> {
  const redis = await RedisServer.up();
  const workers = Array.from(
    { length: PROCESSES },
    (_, at) => new Worker(redis.url, jobs, abortShare, at === 0 ? killAfter : Infinity),
  );
  await Promise.all(workers.map((worker) => worker.begin()));
  return { workers, codes: await Promise.all(workers.map((worker) => worker.end())) };
}

const ascending = (all: readonly number[]) => [...all].sort((a, b) => a - b);
const sum = (all: readonly number[]) => all.reduce((one, other) => one + other, 0);

/** How many starts came too early: the n-th start needs n slots of its process whose time has come. */
function tooEarly({ slots, starts }: Worker): number {
  const own = ascending(slots);
  return ascending(starts).filter((ms, at) => !(ms >= (own[at] ?? Infinity))).length;
}

/** All processes ended with code 0, except the first `killed` ones. */
function expectEnds(codes: readonly unknown[], killed: number): void {
  expect(codes).toEqual(codes.map((_, at) => (at < killed ? null : 0)));
}

/** What a process writes until it ends. */
async function written(script: string): Promise<string> {
  const file = join(import.meta.dirname, script);
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += String(chunk);
  });
  const [code] = await once(child, 'close');
  expect(code).toBe(0);
  return text;
}

beforeAll(() => checkBuilt('express'));

describe.skipIf(redisProgram === null)('eight processes with one shaper', () => {
  it('share its pace, also when one is killed: no job starts before its slot', async () => {
    const jobs = 125;
    const { workers, codes } = await run(jobs, 0, 40);
    expectEnds(codes, 1);
    const [killed, ...others] = workers;
    for (const worker of others) expect(worker.starts).toHaveLength(jobs);
    // It was killed in the middle, and starts nothing more.
    expect(killed?.starts.length).toBeGreaterThanOrEqual(40);
    expect(killed?.starts.length).toBeLessThan(jobs);
    expect(workers.map(tooEarly)).toEqual(workers.map(() => 0));
    const slots = ascending(workers.flatMap((worker) => worker.slots));
    expect(slots.length).toBeGreaterThanOrEqual(PROCESSES * jobs);
    const gaps = slots.slice(1).map((ms, at) => ms - (slots[at] as number));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(PERIOD_MS - 0.002);
  });

  it('waste less than one slot for each job that is aborted, of 30 % that are', async () => {
    const { workers, codes } = await run(50, 0.3);
    expectEnds(codes, 0);
    const aborted = sum(workers.map((worker) => worker.aborted));
    const started = sum(workers.map(({ starts }) => starts.length));
    expect(aborted).toBeGreaterThan(50);
    expect(started + aborted).toBe(PROCESSES * 50);
    expect(workers.map(tooEarly)).toEqual(workers.map(() => 0));
    // A frozen process takes new slots in place of those it missed. Missed slots do not count as aborted, so at most
    // `jobs` slots of each process count.
    const taken = sum(workers.map(({ slots, jobs }) => Math.min(slots.length, jobs)));
    const givenBack = sum(workers.map((worker) => worker.givenBack));
    expect(taken - givenBack - started).toBeLessThan(aborted);
  });
});

it('a process lives until its jobs have run, and no longer', { timeout: 20_000 }, async () => {
  expect(await written('waiting-job.js')).toBe('ran aborted ran ran ');
});
