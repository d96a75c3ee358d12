/**
 * Idempotency keys over a fleet: each key is sent a hundred times at once to four processes that share one Redis, while
 * processes are killed, or Redis is. What was done is read from files, which no process can lose.
 *
 * `SPILLWAY_ONCE_KEYS=1000 npx vitest run tests/fleet/once.test.ts` uses that many keys, and prints what it saw.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLimiter, fixedWindow } from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { delay, seeded, until } from 'spillway-testkit';
import { checkBuilt } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isNotKept, OnceFleet, type Reply, type Run } from './once-fleet.js';

const told = process.env['SPILLWAY_ONCE_KEYS'];
const KEYS = Array.from({ length: Number(told ?? 24) }, (_, i) => `key-${i}`);
const TIMEOUT_MS = 120_000 + KEYS.length * 2_000;
const LEASE_MS = 3_000;

/** A finished run is recorded within this time if the store answers. */
const RECORD_MS = 1_000;

/** What a client may get besides the response. 0 is a connection that failed. */
const OTHERWISE = [0, 409, 503];

/** A time in which Redis did not answer. */
interface Outage {
  readonly fromMs: number;
  readonly toMs: number;
  readonly losesData: boolean;
}

/** A run of a key, and the one after it. */
type Pair = readonly [Run, Run];

function pairsOf(runs: readonly Run[]): readonly Pair[] {
  const last = new Map<string, Run>();
  const pairs: Pair[] = [];
  for (const run of runs) {
    const earlier = last.get(run.key);
    if (earlier) pairs.push([earlier, run]);
    last.set(run.key, run);
  }
  return pairs;
}

/**
 * The runs that must not have happened. A second run may begin only one lease after the claim of the first was taken,
 * and only if the first could not say that it was done: it was still running, its process was killed, or Redis was
 * away.
 */
function doubles(fleet: OnceFleet, outage?: Outage): readonly Pair[] {
  const { fromMs = Infinity, toMs = -Infinity, losesData = false } = outage ?? {};
  return pairsOf(fleet.runs()).filter(([one, other]) => {
    if (losesData && one.askedMs <= toMs && other.begunMs >= fromMs) return false;
    const { doneMs = Infinity } = one;
    const hasDied = (fleet.killedMs.get(one.by) ?? Infinity) <= other.begunMs;
    const isUnheard = doneMs >= fromMs - RECORD_MS && doneMs <= toMs;
    const couldNotTell = hasDied || doneMs > other.askedMs || isUnheard;
    return other.begunMs < one.askedMs + LEASE_MS || !couldNotTell;
  });
}

/** What retries of all keys get at the end: the stored response, or none if it could not be stored. */
async function keptBy(fleet: OnceFleet): Promise<ReadonlyMap<string, string | undefined>> {
  const kept = new Map<string, string | undefined>();
  for (const key of KEYS) {
    let reply = await fleet.charge(key);
    // A key that the server has lost runs once more.
    if (reply.status === 201 && !reply.isRepeat) reply = await fleet.charge(key);
    expect([key, reply.isRepeat || isNotKept(reply)]).toEqual([key, true]);
    kept.set(key, reply.isRepeat ? reply.body : undefined);
  }
  return kept;
}

/**
 * The wrong responses: those that differ from the stored response of their key. A run that another one followed may
 * have sent its own response to its client.
 */
async function wrongAnswers(fleet: OnceFleet, outage?: Outage): Promise<readonly Reply[]> {
  const kept = await keptBy(fleet);
  for (const { status } of fleet.replies) expect([201, ...OTHERWISE]).toContain(status);
  const followed = new Set(pairsOf(fleet.runs()).map(([{ token }]) => token));
  return fleet.replies.filter(({ status, key, body, isRepeat, sentMs }) => {
    if (status !== 201 || body === kept.get(key)) return false;
    if (isRepeat) return !(outage?.losesData && sentMs <= outage.toMs);
    return kept.get(key) !== undefined && !followed.has(JSON.parse(body).token);
  });
}

/** By `charges`, which counts every run in the whole fleet. */
async function used(port: number): Promise<number> {
  const redis = new Redis(port);
  onTestFinished(() => redis.disconnect());
  const options = { limit: 1_000_000, window: '400d', algorithm: fixedWindow } as const;
  const store = redisStore(redis);
  const limiter = createLimiter({ name: 'charges', ...options }, { store, storeTimeout: '5s' });
  return (await limiter.peek('ada')).used;
}

const countOf = (fleet: OnceFleet, status: number): number =>
  fleet.replies.filter((reply) => reply.status === status).length;

/** What a full run saw. */
function say(what: string, fleet: OnceFleet, units: number): void {
  if (told === undefined) return;
  const { replies, killedMs } = fleet;
  const runs = fleet.runs();
  const numbers = {
    replies: replies.length,
    repeats: replies.filter(({ isRepeat }) => isRepeat).length,
    ...Object.fromEntries([201, ...OTHERWISE].map((status) => [status, countOf(fleet, status)])),
    notKept: new Set(replies.filter(isNotKept).map(({ key }) => key)).size,
    kills: killedMs.size,
    runs: runs.length,
    done: runs.filter(({ doneMs }) => doneMs !== undefined).length,
    followed: pairsOf(runs).length,
    units,
  };
  console.info(`${what}, ${KEYS.length} keys: ${JSON.stringify(numbers)}`);
}

/** Charges all keys; after a third of them Redis is away, until `away` settles. */
async function chargeDuring(redis: RedisServer, losesData: boolean, away: () => Promise<void>) {
  const options = { url: redis.url, random: seeded(7), leaseMs: LEASE_MS, workMs: 300 };
  const fleet = await OnceFleet.start(options);
  const charging = fleet.chargeAll(KEYS);
  await until(() => fleet.keysBegun > KEYS.length / 3, TIMEOUT_MS);
  const fromMs = Date.now();
  await away();
  const outage: Outage = { fromMs, toMs: Date.now(), losesData };
  await charging;
  return { fleet, outage };
}

async function killAndStart(redis: RedisServer): Promise<void> {
  await redis.kill();
  await delay(500);
  await redis.start();
}

beforeAll(() => checkBuilt('express'));

describe.skipIf(redisProgram === null)('a hundred duplicates of a key, over four processes', () => {
  it.each([
    ['are killed at random', false],
    ['are killed at random, and keep an answer before they send it', true],
  ])(
    'that %s: it runs once, charges once, and all get one answer',
    async (what, keepFirst) => {
      const redis = await RedisServer.up();
      const random = seeded(keepFirst ? 2 : 1);
      const fleet = await OnceFleet.start({ url: redis.url, random, leaseMs: LEASE_MS, keepFirst });
      let isGoing = true;
      const charging = fleet.chargeAll(KEYS).then(() => {
        isGoing = false;
      });
      await Promise.all([charging, fleet.killAtRandom(() => isGoing)]);
      expect(fleet.killedMs.size).toBeGreaterThan(1);
      expect(doubles(fleet)).toEqual([]);
      expect(await wrongAnswers(fleet)).toEqual([]);

      const units = await used(redis.port);
      say(what, fleet, units);
      const runs = fleet.runs().length;
      // Also charged: requests that were killed before their handler began, and perhaps those that a late reply
      // rejected.
      const unseen = fleet.askedAtKills.reduce((sum, asked) => sum + asked, 0);
      expect(units).toBeGreaterThanOrEqual(runs);
      expect(units).toBeLessThanOrEqual(runs + unseen + countOf(fleet, 503));
    },
    TIMEOUT_MS,
  );

  it(
    'while Redis is killed, and comes back with its data: it runs once',
    async () => {
      const dir = mkdtempSync(join(tmpdir(), 'spillway-once-redis-'));
      const redis = await RedisServer.start(undefined, ['--appendonly', 'yes', '--dir', dir]);
      onTestFinished(async () => {
        await redis.kill();
        rmSync(dir, { recursive: true });
      });
      const { fleet, outage } = await chargeDuring(redis, false, () => killAndStart(redis));
      say('Redis killed, with its data', fleet, await used(redis.port));
      expect(doubles(fleet, outage)).toEqual([]);
      expect(await wrongAnswers(fleet, outage)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'while Redis is killed, and comes back empty: what was done before may run once more',
    async () => {
      const redis = await RedisServer.up();
      const { fleet, outage } = await chargeDuring(redis, true, () => killAndStart(redis));
      say('Redis killed, empty', fleet, await used(redis.port));
      expect(doubles(fleet, outage)).toEqual([]);
      expect(await wrongAnswers(fleet, outage)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'while Redis stands still for longer than a lease: what could not be recorded runs after its lease',
    async () => {
      const redis = await RedisServer.up();
      const { fleet, outage } = await chargeDuring(redis, false, async () => {
        redis.freeze();
        await delay(LEASE_MS + 1_000);
        redis.thaw();
      });
      say('Redis frozen', fleet, await used(redis.port));
      expect(doubles(fleet, outage)).toEqual([]);
      expect(await wrongAnswers(fleet, outage)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
