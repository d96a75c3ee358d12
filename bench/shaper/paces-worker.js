/** One contender that starts jobs at a pace: the cost of a job, and how even the starts are. */

import { Redis } from 'ioredis';
import { answerCalls } from '../harness/child.js';
import { cpuUs } from '../harness/cpu.js';
import { inMemory, inRedis } from './paces.js';

const [name, port] = process.argv.slice(2);
const { make } = { ...inMemory, ...inRedis }[name];
const redis = port === undefined ? undefined : new Redis(Number(port));

/** Processor time of the server, user and system. */
async function serverUs() {
  if (!redis) return Number.NaN;
  const text = await redis.info('cpu');
  const field = (it) => Number(text.match(new RegExp(`${it}:(\\S+)`))[1]);
  return (field('used_cpu_user') + field('used_cpu_sys')) * 1e6;
}

/** Schedules `jobs` jobs at once. Returns costs, all gaps between starts, and the lateness of the last start, in ms. */
async function turn(jobs, periodMs) {
  const { schedule, end } = await make(periodMs, Number(port));
  const starts = [];
  const server = await serverUs();
  const own = cpuUs();
  const all = Array.from({ length: jobs }, () => schedule(() => starts.push(performance.now())));
  await Promise.all(all);
  const clientSpent = cpuUs() - own;
  const serverSpent = (await serverUs()) - server;
  await end();
  const gaps = starts.slice(1).map((ms, at) => ms - starts[at]);
  const lateMs = starts.at(-1) - starts[0] - (jobs - 1) * periodMs;
  return { clientUs: clientSpent / jobs, serverUs: serverSpent / jobs, gaps, lateMs };
}

answerCalls({ turn });
