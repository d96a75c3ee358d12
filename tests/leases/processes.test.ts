/** Several processes share a limit on concurrent requests on a real Redis, and one of them is killed. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { checkBuilt } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const LIMIT = 6;
const LEASE_US = 1_000_000;

interface Said {
  readonly op: 'take' | 'record' | 'putting' | 'put';
  readonly id: string;
  readonly allowed: boolean;
  readonly nowUs: number;
}

interface Holder {
  readonly process: ChildProcess;
  readonly said: () => readonly Said[];
}

function startHolder(url: string, name: string): Holder {
  const script = join(import.meta.dirname, 'holder.js');
  const child = spawn(process.execPath, [script, url, name, `${LIMIT}`, '3'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += String(chunk);
  });
  // A line that the kill cut off is ignored.
  const lines = () =>
    text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .slice(0, -1);
  return { process: child, said: () => lines().map((line) => JSON.parse(line) as Said) };
}

interface Held {
  readonly fromUs: number;
  untilUs: number;
  renewals: number;
}

/**
 * Each lease from its grant to its release, or to the end of its last renewal. A release whose answer the kill cut off
 * can have been carried out at any time since it was sent, so the lease counts only until then.
 */
function leasesOf(said: readonly Said[]): Map<string, Held> {
  const leases = new Map<string, Held>();
  for (const { op, id, allowed, nowUs } of [...said].sort((a, b) => a.nowUs - b.nowUs)) {
    const known = leases.get(id);
    if (op === 'take' && allowed) {
      leases.set(id, { fromUs: nowUs, untilUs: nowUs + LEASE_US, renewals: 0 });
    } else if (known && op === 'record' && allowed) {
      known.untilUs = nowUs + LEASE_US;
      known.renewals += 1;
    } else if (known && op !== 'take' && allowed) known.untilUs = nowUs;
  }
  return leases;
}

/** The most leases held at one instant. */
function mostAtOnce(leases: Iterable<Held>): number {
  const events = [...leases].flatMap(({ fromUs, untilUs }) => [
    { us: fromUs, by: 1 },
    { us: untilUs, by: -1 },
  ]);
  events.sort((a, b) => a.us - b.us || a.by - b.by);
  let now = 0;
  return events.reduce((most, { by }) => {
    now += by;
    return Math.max(most, now);
  }, 0);
}

beforeAll(() => checkBuilt('core'));

describe.skipIf(redisProgram === null)('four processes that share a limit of permits', () => {
  it('hold no more than the limit at any instant though one is killed, and all of it', async () => {
    const { url, port } = await RedisServer.up();
    const holders = ['a', 'b', 'c', 'd'].map((name) => startHolder(url, name));
    const [victim, ...others] = holders as [Holder, ...Holder[]];
    // In the middle of its work: with permits held.
    while (victim.said().length < 40) await once(victim.process.stdout as never, 'data');
    victim.process.kill('SIGKILL');
    const ended = await Promise.all(others.map(({ process }) => once(process, 'exit')));
    expect(ended.map(([code]) => code)).toEqual([0, 0, 0]);

    const leases = leasesOf(holders.flatMap((holder) => holder.said()));
    expect(leases.size).toBeGreaterThan(100);
    expect(mostAtOnce(leases.values())).toBe(LIMIT);
    expect(
      holders
        .flatMap((holder) => holder.said())
        .some(({ op, allowed }) => op === 'take' && !allowed),
    ).toBe(true);
    // Longer than a lease, and kept by renewals.
    const long = [...leases.values()].filter(({ fromUs, untilUs }) => untilUs - fromUs > 1_400_000);
    expect(long.length).toBeGreaterThan(0);
    expect(Math.max(...long.map(({ renewals }) => renewals))).toBeGreaterThanOrEqual(3);

    // Nothing is left but what the killed process held, and that only as long as its leases.
    const redis = new Redis(port);
    onTestFinished(() => redis.disconnect());
    const left = await redis.zrange('spw:1{fleet}shared}p', '0', '-1');
    const [seconds, micros] = await redis.time();
    const nowUs = Number(seconds) * 1e6 + Number(micros);
    const scores = await Promise.all(left.map((id) => redis.zscore('spw:1{fleet}shared}p', id)));
    expect(scores.filter((expires) => Number(expires) > nowUs)).toEqual([]);
  });
});
