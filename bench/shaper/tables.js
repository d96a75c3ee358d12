/** The cost of a reservation compared with a decision, and of a job at a pace compared with other libraries. */

import { startChild } from '../harness/child.js';
import { findRedis, startRedis } from '../harness/redis-server.js';
import { inRounds } from '../harness/rounds.js';
import { digits, quantile, ratio, spread } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';
import { inMemory, inRedis } from './paces.js';
import { reservesInMemory, reservesInRedis } from './reserves.js';

const CLIENT_CORE = 0;
const SERVER_CORE = 1;
const ROUNDS = 7;
const TURN_MS = 150;

const IN_REDIS = {
  reserves: ['Redis, a reservation: server CPU ÷ `consume`', '<=', 1.1],
  paused: ['Redis, a reservation of a key that is paused: server CPU ÷ `consume`', '<=', 1.35],
};
const IN_MEMORY = { reserves: ['Memory, a reservation: CPU ÷ `consume`, both awaited', '<=', 1.3] };

/** How much the 99.9 % quantile of gap errors exceeds that of timers, in milliseconds: medians of five turns. */
const PRECISION = ['Memory, jobs at a pace: p99.9 of gap errors − that of timers, ms', '<=', 1];
const TURNS = 5;
const PACE_MS = 10;
/** The first gaps are left out, because their jobs are due while the others are still being scheduled. */
const FIRST = 10;
const STARTS = FIRST + 1_001;

export async function shaperTables(say) {
  const parts = [
    await reserveInMemory(say),
    await jobs(inMemory, undefined, say),
    await precision(say),
  ];
  const program = findRedis();
  if (!program) {
    const missing = '**Not measured: no redis-server or valkey-server was found.**';
    return [...parts, missing].join('\n\n');
  }
  const server = await startRedis(program, SERVER_CORE);
  try {
    parts.push(await reserveInRedis(server.port, say), await jobs(inRedis, server.port, say));
  } finally {
    server.stop();
  }
  return parts.join('\n\n');
}

/** Starts a child for each contender. Returns them with a function to end them. */
function startAll(entries, module, argsOf) {
  const names = Object.keys(entries);
  const children = Object.fromEntries(
    names.map((name) => [
      name,
      startChild(import.meta.url, module, { args: argsOf(name), core: CLIENT_CORE }),
    ]),
  );
  const end = () => {
    for (const child of Object.values(children)) child.end();
  };
  return { names, children, end };
}

async function reserveInMemory(say) {
  say('a reservation in memory');
  const argsOf = (name) => [name, '10000'];
  const { names, children, end } = startAll(reservesInMemory, '../memory/cpu-worker.js', argsOf);
  for (const name of names) await children[name].call('warm');
  const results = await inRounds(ROUNDS, names, (name) => children[name].call('turn'));
  end();
  const rows = names.map((name) => {
    const share = ratio(results.get(name), results.get('consumes'));
    const { title } = reservesInMemory[name];
    return [title, spread(results.get(name)), judged(share, IN_MEMORY[name])];
  });
  return table(['In memory, 10 000 keys, awaited', 'CPU ns', '÷ `consume`'], rows);
}

async function reserveInRedis(port, say) {
  const argsOf = (name) => [name, `${port}`];
  const { names, children, end } = startAll(reservesInRedis, '../redis/worker.js', argsOf);
  for (const name of names) await children[name].call('turn', 100, 4 * TURN_MS); // to warm up
  const parts = [];
  for (const inFlight of [1, 100]) {
    say(`a reservation in Redis, ${inFlight} in flight`);
    const turn = (name) => children[name].call('turn', inFlight, TURN_MS);
    const results = await inRounds(ROUNDS, names, turn);
    const pick = (name, field) => results.get(name).map((one) => one[field]);
    const rows = names.map((name) => [
      reservesInRedis[name].title,
      ...['p50Us', 'clientUs', 'serverUs'].flatMap((field) => {
        const share = ratio(pick(name, field), pick('consumes', field));
        const target = field === 'serverUs' && inFlight === 100 ? IN_REDIS[name] : undefined;
        return [spread(pick(name, field)), judged(share, target)];
      }),
    ]);
    const share = '÷ `consume`';
    const head = ['p50 µs', share, 'client CPU µs', share, 'server CPU µs', share];
    parts.push(table([`In Redis, ${inFlight} in flight`, ...head], rows));
  }
  end();
  return parts.join('\n\n');
}

/** Measures how even the starts are, in turns with plain timers. */
async function precision(say) {
  const { spillway, timer } = inMemory;
  const contenders = { spillway, timer };
  const { names, children, end } = startAll(contenders, './paces-worker.js', (name) => [name]);
  say(`precision: ${(2 * TURNS * STARTS * PACE_MS) / 1_000} s`);
  const results = await inRounds(TURNS, names, async (name) => {
    const { gaps } = await children[name].call('turn', STARTS, PACE_MS);
    const errors = gaps.slice(FIRST).map((ms) => Math.abs(ms - PACE_MS));
    return [0.5, 0.99, 0.999].map((share) => quantile(errors, share));
  });
  end();
  const medianOf = (name, at) =>
    quantile(
      results.get(name).map((one) => one[at]),
      0.5,
    );
  const excess = medianOf('spillway', 2) - medianOf('timer', 2);
  const rows = names.map((name) => [
    contenders[name].title,
    ...[0, 1, 2].map((at) => digits(medianOf(name, at))),
    name === 'spillway' ? judged(excess, PRECISION) : '',
  ]);
  const head = ['error of a gap, p50, ms', 'p99', 'p99.9', 'p99.9 − that of timers'];
  return table([`1,000 gaps of ${PACE_MS} ms, medians of ${TURNS} turns`, ...head], rows);
}

/** Schedules jobs at once: many at a fast pace to measure their cost, and fewer at a slower pace for the gaps. */
async function jobs(entries, port, say) {
  const argsOf = (name) => [name, ...(port === undefined ? [] : [`${port}`])];
  const { names, children, end } = startAll(entries, './paces-worker.js', argsOf);
  const where = port === undefined ? 'in memory' : 'on Redis';
  say(`jobs at a pace, ${where}`);
  const fast = (name) => children[name].call('turn', 500, 5);
  for (const name of names) await fast(name); // to warm up
  const costs = await inRounds(3, names, fast);
  const even = await inRounds(1, names, (name) => children[name].call('turn', 60, 50));
  end();
  const rows = names.map((name) => {
    const [{ gaps, lateMs }] = even.get(name);
    const cost = (field) => spread(costs.get(name).map((one) => one[field]));
    const ofRedis = port === undefined ? [] : [cost('serverUs')];
    const found = [0, 0.5, 1].map((share) => digits(quantile(gaps, share)));
    return [entries[name].title, cost('clientUs'), ...ofRedis, ...found, digits(lateMs)];
  });
  const ofRedis = port === undefined ? [] : ['server CPU µs'];
  const gaps = ['least gap, ms', 'median', 'largest', 'last start late by, ms'];
  const title = `500 jobs at 200 a second, ${where}; then gaps of 60 at 20 a second`;
  return table([title, 'CPU µs a job', ...ofRedis, ...gaps], rows);
}
