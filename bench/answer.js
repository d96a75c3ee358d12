/** The few numbers of a run that most readers want, as the first tables of docs/benchmarks.md. */

import { table } from './harness/table.js';

/** The frameworks: the heading of each one's table, and the other limiters in it that count in memory. */
const FRAMEWORKS = [
  ['Express 5', ['express-rate-limit', 'rate-limiter-flexible']],
  ['Koa 3', ['koa-ratelimit']],
  ['Fastify 5', ['@fastify/rate-limit']],
  ['Hono 4 on Node', ['hono-rate-limiter']],
  ['NestJS 11 on Express', ['@nestjs/throttler']],
];

const OURS = 'Spillway `createLimiter().consume`';
const OURS_READ = `${OURS}, with its numbers read`;
const ERL = 'express-rate-limit `MemoryStore.increment`';
const RLF = 'rate-limiter-flexible `RateLimiterMemory.consume`';
const REDIS = [
  OURS,
  'rate-limit-redis `increment`',
  'rate-limiter-flexible `RateLimiterRedis.consume`',
];

/** The costs of a decision: the label, the first heading of the source table, the column, and the rows. */
const DECISIONS = [
  [
    'in memory, 10 000 keys: ns of processor time',
    'CPU time of a decision',
    3,
    [OURS_READ, ERL, RLF],
  ],
  [
    'in memory, 1 000 000 keys: bytes a key',
    '1 000 000 keys of 15 characters',
    3,
    [OURS_READ, ERL, RLF],
  ],
  ['in Redis, one at a time: µs until half are answered', '1 in flight', 3, REDIS],
  ['in Redis, 100 at a time: decisions a second', '100 in flight', 1, REDIS],
];

/** @param tables the tables of a run, as markdown */
export function answerOf(tables) {
  const frameworks = FRAMEWORKS.flatMap(([framework, peers]) => {
    const rows = rowsUnder(tables, `${framework}: requests that pass`);
    const added = (name) => rows && numberIn(rows, `${name}, memory`, 5);
    if (!rows) return [];
    const others = peers.map((peer) => `${peer} ${added(peer)}`).join(', ');
    return [[framework, added('Spillway'), others]];
  });
  const decisions = DECISIONS.map(([what, head, column, names]) => {
    const rows = rowsUnder(tables, head);
    return [what, ...names.map((name) => numberIn(rows, name, column))];
  });
  return [
    table(['A request that passes, counted in memory: µs added', 'Spillway', 'peers'], frameworks),
    table(
      ['A decision without HTTP', 'Spillway', 'express-rate-limit', 'rate-limiter-flexible'],
      decisions,
    ),
  ].join('\n\n');
}

/**
 * The rows of the first table whose first heading is `head`, by their first cells; undefined if there is no such table.
 */
function rowsUnder(tables, head) {
  const lines = tables.split('\n');
  const begin = lines.findIndex((line) => line.startsWith(`| ${head} |`));
  if (begin < 0) return undefined;
  const rest = lines.slice(begin + 2);
  const end = rest.findIndex((line) => !line.startsWith('|'));
  const rows = end < 0 ? rest : rest.slice(0, end);
  return new Map(rows.map((row) => row.split('|').map((cell) => cell.trim())).map(byFirst));
}

const byFirst = ([, first, ...others]) => [first, others];

/** The median in a cell such as `**8.48** (≤ 8) (3.47 to 22.3)`; `column` counts from 1. */
function numberIn(rows, name, column) {
  const number = /-?\d+( \d{3})*(\.\d+)?/.exec(rows?.get(name)?.[column - 1] ?? '')?.[0];
  if (number === undefined) throw new Error(`the tables of this run have no "${name}"`);
  return number;
}
