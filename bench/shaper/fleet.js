/** Eight processes that share a pace, as the receiver of their calls sees it. Takes about six minutes. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from '../harness/child.js';
import { findRedis, startRedis } from '../harness/redis-server.js';
import { digits, quantile } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';

const SERVER_CORE = 1;
const PROCESSES = 8;
const LIMIT = 4;
const PERIOD_MS = 1_000 / LIMIT;
const JOBS = 1_000;
/** One process is killed after this many calls of all processes. */
const KILL_AT = 400;

const TARGETS = {
  early: ['a fleet at 4 a second: starts before their slot', '<=', 0],
  even: ['the same: % of gaps from 248 to 252 ms', '>=', 99.9],
  // One period, minus the largest lateness, minus the least gap, all as measured.
  short: ['the same: least gap, below a period less the largest lateness by ms', '<=', 0.5],
};

/** The partner's limit in a second. */
const ALLOWED = 10;
const WARM_UP_MS = 5_000;
const MEASURED_MS = 30_000;
const PACES = [
  { title: 'a little below the limit: one each 102 ms', periodMs: 102, isHeldTo: true },
  { title: 'the limit: one each 100 ms', periodMs: 100 },
  { title: 'twice the limit', periodMs: 50 },
  { title: 'five times the limit', periodMs: 20 },
  { title: 'twenty times the limit', periodMs: 5 },
];

export async function fleetTables(say) {
  const program = findRedis();
  if (!program) return '**Not measured: no redis-server or valkey-server was found.**';
  const server = await startRedis(program, SERVER_CORE);
  try {
    return [await paceTable(server.port, say), await partnerTable(server.port, say)].join('\n\n');
  } finally {
    server.stop();
  }
}

/** An HTTP server on a free port. */
async function open(answer) {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, close };
}

async function startFleet(module, args) {
  const children = Array.from({ length: PROCESSES }, () =>
    startChild(import.meta.url, module, { args }),
  );
  await Promise.all(children.map((child) => child.call('prepare')));
  return children;
}

async function paceTable(port, say) {
  say(`a fleet at ${LIMIT} a second, ${JOBS} jobs: ${(JOBS * PERIOD_MS) / 1_000} s`);
  const calls = [];
  let victim;
  const { url, close } = await open((request, response) => {
    const { 'x-early': early, 'x-slot-ms': slotMs } = request.headers;
    if (early === undefined) return response.end();
    const atMs = performance.timeOrigin + performance.now();
    calls.push({ atMs, isEarly: early === '1', lateMs: atMs - Number(slotMs) });
    if (calls.length === KILL_AT) victim.end();
    return response.end();
  });
  const children = await startFleet('./fleet-worker.js', [`${port}`, url, `${LIMIT}`]);
  victim = children[0];
  const runs = children.map((child) => child.call('run', JOBS / PROCESSES));
  await Promise.all(runs.slice(1));
  for (const child of children) child.end();
  close();
  return paceOf(calls);
}

function paceOf(calls) {
  const gaps = calls.slice(1).map(({ atMs }, at) => atMs - calls[at].atMs);
  // Slots of the killed process stay empty, which causes gaps of several periods.
  const whole = gaps.filter((ms) => ms < 1.5 * PERIOD_MS);
  const even = whole.filter((ms) => ms >= PERIOD_MS - 2 && ms <= PERIOD_MS + 2);
  const late = calls.map(({ lateMs }) => lateMs);
  const largestLate = Math.max(...late);
  const short = Math.max(0, PERIOD_MS - largestLate - Math.min(...gaps));
  const found = (values, ...shares) => shares.map((share) => digits(quantile(values, share)));
  const [least, p001, middle, p999, largest] = found(whole, 0, 0.001, 0.5, 0.999, 1);
  const rows = [
    ['calls, of which one process was killed', `${calls.length}`],
    ['starts before their slot', judged(calls.filter((one) => one.isEarly).length, TARGETS.early)],
    ['gaps of one period', `${whole.length}`],
    ['of these from 248 to 252 ms, %', judged((100 * even.length) / whole.length, TARGETS.even)],
    [
      'gaps: least, 0.1 %, median, 99.9 %, largest, ms',
      `${least}, ${p001}, ${middle}, ${p999}, ${largest}`,
    ],
    [
      'came after their slot by: median, 99.9 %, largest, ms',
      found(late, 0.5, 0.999, 1).join(', '),
    ],
    ['least gap below a period less the largest of these by, ms', judged(short, TARGETS.short)],
  ];
  return table([`Eight processes, ${LIMIT} a second, ${JOBS} jobs, at the receiver`, ''], rows);
}

async function partnerTable(port, say) {
  const rows = [];
  for (const { title, periodMs, isHeldTo } of PACES) {
    say(`a fleet and its partner, ${title}`);
    const { rejected, used } = await partnerAt(port, periodMs);
    const targets = isHeldTo
      ? [
          ['a fleet and its partner: % of answers 429', '<=', 1],
          ['the same: % of the limit used', '>=', 95],
        ]
      : [];
    rows.push([title, judged(rejected, targets[0]), judged(used, targets[1])]);
  }
  const title = `Eight processes that call all the time; the partner allows ${ALLOWED} a second. Their pace`;
  return table([title, 'answers 429, %', 'of the limit used, %'], rows);
}

async function partnerAt(port, periodMs) {
  const statuses = [];
  let window = 0;
  let used = 0;
  let fromMs = Infinity;
  const { url, close } = await open((request, response) => {
    if (request.url !== '/messages') return response.end();
    const nowMs = performance.now();
    const current = Math.floor(nowMs / 1_000);
    if (current !== window) used = 0;
    window = current;
    const isAllowed = used < ALLOWED;
    if (isAllowed) used += 1;
    else response.setHeader('Retry-After', 1);
    response.setHeader('RateLimit', `"second";r=${ALLOWED - used};t=1`);
    response.setHeader('RateLimit-Policy', `"second";q=${ALLOWED};w=1`);
    if (nowMs >= fromMs && nowMs < fromMs + MEASURED_MS) statuses.push(isAllowed);
    return response.writeHead(isAllowed ? 200 : 429).end();
  });
  const children = await startFleet('./partner-worker.js', [`${port}`, url, `${periodMs}`]);
  await Promise.all(children.map((child) => child.call('begin')));
  fromMs = performance.now() + WARM_UP_MS;
  await sleep(WARM_UP_MS + MEASURED_MS);
  for (const child of children) child.end();
  close();
  const allowed = statuses.filter(Boolean).length;
  return {
    rejected: 100 * (1 - allowed / statuses.length),
    used: (100 * allowed) / ((MEASURED_MS / 1_000) * ALLOWED),
  };
}
