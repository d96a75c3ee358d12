/** Counts a stream of events in rolling logs in Redis: one log or three logs for each event. */

import { makeRule } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { redisStoreAt } from '@spillway/redis/testing';
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { answerCalls } from '../harness/child.js';

const [port, kind] = process.argv.slice(2);
const client = new Redis({ host: '127.0.0.1', port: Number(port) });
client.setMaxListeners(0); // each store adds a listener
const WINDOW_US = 3_600_000_000;
const IN_FLIGHT = 100;
const START_US = 1_767_225_600_000_000;

/** The published algorithm in one script, for any number of sorted sets: it counts in all of them, or in none. */
const SORTED_SETS = `
local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
for _, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
  if redis.call('ZCARD', key) >= limit then
    return 0
  end
end
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, now, ARGV[4])
  redis.call('PEXPIRE', key, window / 1000)
end
return 1
`;

/** Functions that each make a counter: it counts one event, given its instant and its index among those in flight. */
const MAKERS = {
  // Each event in flight has a separate store, because a store has one clock, and sends the calls of one turn together.
  spillway(logs, size) {
    const askers = Array.from({ length: IN_FLIGHT }, () => {
      const clock = new ManualClock();
      return { clock, store: redisStoreAt(client, clock, { coalesce: false }) };
    });
    const rule = makeRule('sliding-window-log', size, WINDOW_US);
    const step = { op: 'take', key: 'ada', rule, cost: 1, binding: true };
    const steps = names(logs, size).map((limiter) => ({ ...step, limiter }));
    return (us, at) => {
      askers[at].clock.setUs(us);
      return askers[at].store.apply(steps);
    };
  },
  async script(logs, size) {
    const sha = await client.script('LOAD', SORTED_SETS);
    const keys = names(logs, size);
    return (us) => client.evalsha(sha, logs, ...keys, us, WINDOW_US, size, `${us}`);
  },
  multi(logs, size) {
    const keys = names(logs, size);
    return (us) => {
      const multi = client.multi();
      for (const key of keys) {
        multi
          .zremrangebyscore(key, 0, us - WINDOW_US)
          .zcard(key)
          .zadd(key, us, `${us}`);
        multi.pexpire(key, WINDOW_US / 1000);
      }
      return multi.exec();
    };
  },
  flexible(logs, size) {
    const options = { storeClient: client, points: 1_000_000_000, duration: WINDOW_US / 1e6 };
    const limiters = names(logs, size).map(
      (keyPrefix) => new RateLimiterRedis({ ...options, keyPrefix }),
    );
    return () => Promise.all(limiters.map((limiter) => limiter.consume('ada')));
  },
};

let count;
let gapUs = 0;
let nowUs = 0;

const names = (logs, size) =>
  Array.from({ length: logs }, (_, at) => `${kind}-${logs}-${size}-${at}`);

/** Counts `many` events. Each comes when the oldest entry of a full log expires. */
async function events(many) {
  for (let done = 0; done < many; done += IN_FLIGHT) {
    const calls = Array.from({ length: IN_FLIGHT }, (_, at) => {
      nowUs += gapUs;
      return count(Math.floor(nowUs), at);
    });
    await Promise.all(calls);
  }
}

async function serverUs() {
  const text = await client.info('cpu');
  const spent = (field) => Number(text.match(new RegExp(`used_cpu_${field}:(\\S+)`))[1]);
  return (spent('user') + spent('sys')) * 1e6;
}

/** Creates `logs` logs of `size` live entries. */
async function fill(logs, size) {
  [gapUs, nowUs] = [WINDOW_US / size, START_US];
  count = await MAKERS[kind](logs, size);
  // rate-limiter-flexible counts in fixed windows, which have no entries.
  await events(kind === 'flexible' ? 1_000 : Math.max(size, 1_000));
}

/** The events per second, and the server's CPU time for each. */
async function turn(many) {
  const server = await serverUs();
  const start = performance.now();
  await events(many);
  const elapsed = performance.now() - start;
  return { rate: (many * 1000) / elapsed, serverUs: ((await serverUs()) - server) / many };
}

answerCalls({ fill, turn });
