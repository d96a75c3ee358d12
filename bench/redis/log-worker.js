/** One sliding log in Redis, in virtual time: the time that a step on it takes inside the script. */

import { makeRule } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { redisStoreAt } from '@spillway/redis/testing';
import { Redis } from 'ioredis';
import { answerCalls } from '../harness/child.js';
import { median } from '../harness/stats.js';

const [port] = process.argv.slice(2);
const client = new Redis({ host: '127.0.0.1', port: Number(port) });
const WINDOW_US = 3_600_000_000;

/** The published algorithm: a sorted set with a member for each request. */
const SORTED_SET = `
local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
local used = redis.call('ZCARD', KEYS[1])
if used >= limit then
  return { 0, 0 }
end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('PEXPIRE', KEYS[1], window / 1000)
return { 1, limit - used - 1 }
`;

let nowUs = 0;
let size = 0;
let kind = 'log';
let name = '';
let sha = '';
let member = 0;

// Each call has a separate store, because a store has one clock, and sends the calls of one turn together.
const askers = Array.from({ length: 100 }, () => {
  const clock = new ManualClock();
  return { clock, store: redisStoreAt(client, clock, { coalesce: false }) };
});

function ask({ clock, store }, op, cost, atUs) {
  clock.setUs(nowUs);
  const rule = makeRule('sliding-window-log', size, WINDOW_US);
  const receipt = atUs === undefined ? undefined : { atUs, num: 0, units: 1 };
  return store.apply([{ op, limiter: 'log', key: 'ada', rule, cost, binding: true, receipt }]);
}

function take(asker) {
  if (kind === 'log') return ask(asker, 'take', 1);
  member += 1;
  return client.evalsha(sha, 1, 'zset', nowUs, WINDOW_US, size, `${nowUs}:${member}`);
}

async function scriptUs() {
  const text = await client.info('commandstats');
  return Number(text.match(/cmdstat_evalsha:calls=\d+,usec=(\d+)/)?.[1] ?? 0);
}

/** Makes `count` grants, each of them when another entry expires. Returns their total time inside the script. */
async function grants(count) {
  const before = await scriptUs();
  for (let done = 0; done < count; done += askers.length) {
    const calls = askers.map((asker) => {
      nowUs += WINDOW_US / size;
      return take(asker);
    });
    await Promise.all(calls);
  }
  return (await scriptUs()) - before;
}

/** Creates a log of `entries` live entries. Returns the bytes per entry. */
async function fill(newKind, entries) {
  await client.flushall('SYNC');
  [kind, size, nowUs] = [newKind, entries, 1_767_225_600_000_000];
  if (kind === 'zset') sha = await client.script('LOAD', SORTED_SET);
  await grants(Math.max(entries, askers.length));
  [name] = await client.keys('*');
  const bytes = await client.memory('USAGE', name, 'SAMPLES', '0');
  await client.copy(name, 'full');
  return bytes / entries;
}

const half = () => Math.max(1, Math.floor(size / 2));
const atEntry = (back) => nowUs - (back * WINDOW_US) / size;

/** The measured steps, each with the part of a window that passes before it. */
const STEPS = {
  rejectOne: [0, (asker) => take(asker)],
  rejectHalf: [0, (asker) => ask(asker, 'take', half())],
  rejectAll: [0, (asker) => ask(asker, 'take', size)],
  recordAll: [0, (asker) => ask(asker, 'record', size)],
  putNewest: [0, (asker) => ask(asker, 'put', 1, atEntry(0))],
  putMiddle: [0, (asker) => ask(asker, 'put', 1, atEntry(half()))],
  lookHalf: [0.5, (asker) => (kind === 'log' ? ask(asker, 'look', 1) : take(asker))],
  grantHalf: [0.5, (asker) => take(asker)],
};

/** Makes one step on the full log. Returns its time inside the script. */
async function once(step) {
  const [part, act] = STEPS[step];
  await client.copy('full', name, 'REPLACE');
  const before = await scriptUs();
  const startUs = nowUs;
  const asker = askers[0];
  nowUs += part * WINDOW_US;
  await act(asker);
  nowUs = startUs;
  return (await scriptUs()) - before;
}

async function steady(count) {
  await client.copy('full', name, 'REPLACE');
  const startUs = nowUs;
  const spent = await grants(count);
  nowUs = startUs;
  return spent / count;
}

async function each(step, times) {
  const spent = [];
  for (let i = 0; i < times; i += 1) spent.push(await once(step));
  return median(spent);
}

answerCalls({ fill, steady, each });
