/** Decisions that hold permits, on one ioredis connection: the server's cost to take and to release them. */

import { makeLeasesRule, makeRule } from '@spillway/core/store';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { answerCalls } from '../harness/child.js';
import { makeKeys } from '../harness/keys.js';
import { median } from '../harness/stats.js';

const [port] = process.argv.slice(2);
const client = new Redis({ host: '127.0.0.1', port: Number(port) });
const single = redisStore(client, { coalesce: false });
const shared = redisStore(client);
const keys = makeKeys(10_000);
const LEASE_US = 60_000_000;
const bucket = makeRule('token-bucket', 1_000_000, 400 * 86_400_000_000);
const inFlight = makeLeasesRule(1_000, LEASE_US);
const fleet = makeLeasesRule(1_000_000, LEASE_US, 0.2);
let asked = 0;

function permit(limiter, key, rule) {
  asked += 1;
  const lease = {
    id: `${asked.toString(36)}.${Math.random().toString(36).slice(2)}`,
    critical: false,
  };
  return { op: 'take', limiter, key, rule, cost: 1, binding: true, lease };
}

/** The steps of one request, by its limiters. */
const guarded = {
  bucket: (key) => [{ op: 'take', limiter: 'rate', key, rule: bucket, cost: 1, binding: true }],
  concurrency: (key) => [permit('in-flight', key, inFlight)],
  fleet: () => [permit('fleet', 'fleet', fleet)],
  three: (key) => [
    permit('fleet', 'fleet', fleet),
    permit('in-flight', key, inFlight),
    ...guarded.bucket(key),
  ],
};

function nextOf(kind) {
  asked += 1;
  return guarded[kind](keys[asked % keys.length]);
}

/** The time spent inside scripts, as the server counts it. */
async function scriptUs() {
  const text = await client.info('commandstats');
  return Number(text.match(/cmdstat_evalsha:calls=\d+,usec=(\d+)/)?.[1] ?? 0);
}

async function serverUs() {
  const text = await client.info('cpu');
  const field = (name) => Number(text.match(new RegExp(`${name}:(\\S+)`))[1]);
  return (field('used_cpu_user') + field('used_cpu_sys')) * 1e6;
}

function releases(requests) {
  return requests.map((steps) =>
    steps.filter(({ lease }) => lease).map((step) => ({ ...step, op: 'put' })),
  );
}

/** Makes `count` decisions one after another, then all releases. Both are timed separately. */
async function oneByOne(kind, count) {
  const requests = Array.from({ length: count }, () => nextOf(kind));
  const latencies = [];
  const inScript = await scriptUs();
  const before = await serverUs();
  for (const steps of requests) {
    const start = performance.now();
    await single.apply(steps);
    latencies.push(performance.now() - start);
  }
  const after = await serverUs();
  const inScriptAfter = await scriptUs();
  await Promise.all(releases(requests).map((steps) => shared.apply(steps)));
  const released = await serverUs();
  return {
    serverUs: (after - before) / count,
    scriptUs: (inScriptAfter - inScript) / count,
    releaseUs: (released - after) / count,
    p50Us: median(latencies) * 1000,
  };
}

/**
 * Takes 100 permits of the fleet's key at once, releases them in the next turn, and repeats that for `count` requests.
 */
async function hotKey(count) {
  const before = await serverUs();
  for (let done = 0; done < count; done += 100) {
    const requests = Array.from({ length: 100 }, () => guarded.fleet());
    await Promise.all(requests.map((steps) => shared.apply(steps)));
    await Promise.all(releases(requests).map((steps) => shared.apply(steps)));
  }
  return { serverUs: ((await serverUs()) - before) / count };
}

/** Takes `size` permits that stay held. Returns the bytes of the fleet's key. */
async function fill(size) {
  await client.flushall('SYNC');
  for (let held = 0; held < size; held += 100) {
    const requests = Array.from({ length: 100 }, () => guarded.fleet());
    await Promise.all(requests.map((steps) => shared.apply(steps)));
  }
  return (await client.memory('USAGE', 'spw:1{fleet}fleet}p', 'SAMPLES', '0')) ?? 0;
}

answerCalls({ oneByOne, hotKey, fill });
