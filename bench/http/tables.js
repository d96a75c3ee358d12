/** The CPU time that a limiter adds to a request, in each framework. */

import { startChild } from '../harness/child.js';
import { findRedis, startRedis } from '../harness/redis-server.js';
import { inRounds } from '../harness/rounds.js';
import { digits, median, quantile, ratio, spread } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';
import { contenders as express } from './frameworks/express.js';
import { contenders as fastify } from './frameworks/fastify.js';
import { contenders as hono } from './frameworks/hono.js';
import { contenders as koa } from './frameworks/koa.js';
import { contenders as nest } from './frameworks/nest.js';

const ROUNDS = 7;
/** Requests in a turn. The warm-up takes twice as many. */
const AMOUNT = 3_000;
/** The server has one core; the load and Redis share the other. */
const SERVER_CORE = 0;
const OTHER_CORE = 1;
/**
 * Targets for Spillway in memory: added CPU microseconds, and the cost of a rejection as a multiple of a bare request.
 */
const FRAMEWORKS = {
  express: { title: 'Express 5', contenders: express, addedUs: 8, rejected: 1 },
  koa: { title: 'Koa 3', contenders: koa, addedUs: 4 },
  fastify: { title: 'Fastify 5', contenders: fastify, addedUs: 4 },
  hono: { title: 'Hono 4 on Node', contenders: hono, addedUs: 3 },
  nest: { title: 'NestJS 11 on Express', contenders: nest, addedUs: 15, rejected: 1.15 },
};
const KINDS = [
  { title: 'requests that pass', limit: 1_000_000, keys: 10_000, db: 0 },
  { title: 'requests rejected with 429', limit: 1, keys: 1_000, db: 1 },
];

async function turn(server, load, { keys, limit }, name) {
  const port = await server.call('port');
  const before = await server.call('cpu');
  const { passed, rejected, seconds, p50Ms, errors } = await load.call('fire', port, keys, AMOUNT);
  const spent = (await server.call('cpu')) - before;
  const expected = limit === 1 && name !== 'bare' ? rejected : passed;
  if (errors > 0 || expected < 0.98 * (passed + rejected)) {
    console.warn(`${name}: ${passed} passed, ${rejected} rejected, ${errors} errors`);
  }
  return { rate: (passed + rejected) / seconds, cpuUs: spent / (passed + rejected), p50Ms };
}

function tableOf(framework, kind, names, results) {
  const { title, contenders, addedUs, rejected } = FRAMEWORKS[framework];
  const passes = kind.limit > 1;
  const pick = (name, field) => results.get(name).map((result) => result[field]);
  const rows = names.map((name) => {
    const added = pick(name, 'cpuUs').map((us, round) => us - pick('bare', 'cpuUs')[round]);
    const share = ratio(pick(name, 'cpuUs'), pick('bare', 'cpuUs'));
    const held = name === 'ours';
    const least = held && passes ? [`${title}, memory: added CPU µs`, '<=', addedUs] : undefined;
    const most =
      held && !passes && rejected ? [`${title}, a rejection ÷ bare`, '<=', rejected] : undefined;
    return [
      contenders[name].title,
      spread(pick(name, 'rate')),
      digits(ratio(pick(name, 'rate'), pick('bare', 'rate'))),
      spread(pick(name, 'cpuUs')),
      judged(share, most),
      `${judged(median(added), least)} (${digits(quantile(added, 0.25))} to ${digits(quantile(added, 0.75))})`,
      digits(median(pick(name, 'p50Ms'))),
    ];
  });
  const head = ['requests/s', '÷ bare', 'CPU µs/request', '÷ bare', 'added CPU µs', 'p50 ms'];
  return table([`${title}: ${kind.title}`, ...head], rows);
}

async function measure(framework, kind, redisPort, say) {
  const { title, contenders } = FRAMEWORKS[framework];
  // Shedders are left out of the rejections, because the load does not exceed their capacity, so they reject nothing.
  const names = Object.keys(contenders).filter((name) => {
    const { redis, sheds } = contenders[name];
    return (redisPort || !redis) && (kind.limit > 1 || !sheds);
  });
  const load = startChild(import.meta.url, './load.js', { core: OTHER_CORE });
  const servers = {};
  say(`${title}, ${kind.title}`);
  for (const name of names) {
    const args = [framework, name, `${kind.limit}`, `${redisPort ?? 0}`, `${kind.db}`];
    servers[name] = startChild(import.meta.url, './server.js', { args, core: SERVER_CORE });
    const port = await servers[name].call('port');
    await load.call('fire', port, kind.keys, 2 * AMOUNT); // to warm up, and to use up the small limit
  }
  const results = await inRounds(ROUNDS, names, (name) => turn(servers[name], load, kind, name));
  for (const child of [load, ...Object.values(servers)]) child.end();
  return tableOf(framework, kind, names, results);
}

export async function httpTables(say) {
  const program = findRedis();
  const redis = program ? await startRedis(program, OTHER_CORE) : undefined;
  if (!redis) console.warn('No redis-server or valkey-server: the rows with Redis are left out.');
  try {
    const parts = [];
    for (const [number, framework] of Object.keys(FRAMEWORKS).entries()) {
      for (const kind of KINDS) {
        const own = { ...kind, db: 2 * number + kind.db };
        parts.push(await measure(framework, own, redis?.port, say));
      }
    }
    return parts.join('\n\n');
  } finally {
    redis?.stop();
  }
}
