/** Decisions in Redis on one connection, by how many are in flight. */

import { startChild } from '../harness/child.js';
import { findRedis, startRedis } from '../harness/redis-server.js';
import { inRounds } from '../harness/rounds.js';
import { digits, interval, median, ratios, spread } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';
import { contenders, threefold } from './contenders.js';
import { leaseTables } from './leases.js';
import { logTables } from './log.js';
import { logRateTables } from './log-rate.js';
import { settledTable } from './settled.js';

const IN_FLIGHT = [1, 10, 100, 1000];
const ROUNDS = 12;
/**
 * How many more rounds are run for contenders with a target and for the one they are compared with. Latencies vary much
 * between rounds.
 */
const MORE_ROUNDS = { 1: 48, 10: 48, 100: 8 };
const TURN_MS = 40;
const WARM_MS = 500;
const CLIENT_CORE = 0;
const SERVER_CORE = 1;

/** The targets of Spillway, by decisions in flight and contender. */
const TARGETS = {
  1: {
    apply: { p50Us: ['Redis, 1 in flight: p50 ÷ bare script', '<=', 1.1] },
    single: { p50Us: ['Redis, `coalesce: false`, 1 in flight: p50 ÷ bare script', '<=', 1.05] },
  },
  10: {
    single: { p50Us: ['Redis, `coalesce: false`, 10 in flight: p50 ÷ bare script', '<=', 1.15] },
  },
  100: {
    apply: {
      rate: ['Redis, 100 in flight: decisions/s ÷ `return 1`', '>=', 1],
      clientUs: ['Redis, 100 in flight: client CPU ÷ bare script', '<=', 0.4],
      serverUs: ['Redis, 100 in flight: server CPU ÷ bare script', '<=', 0.6],
    },
    single: {
      clientUs: ['Redis, `coalesce: false`, 100 in flight: client CPU ÷ bare script', '<=', 1.1],
      serverUs: ['Redis, `coalesce: false`, 100 in flight: server CPU ÷ bare script', '<=', 1.1],
    },
  },
};

/** Ratios are relative to `yard`, except that of the rate, which is relative to an empty script. */
function tableOf(title, entries, results, { yard, empty, targets = {} }) {
  const pick = (name, field) => results.get(name).map((turn) => turn[field]);
  const rows = Object.entries(entries).map(([name, entry]) => [
    entry.title,
    ...['rate', 'p50Us', 'clientUs', 'serverUs'].flatMap((field) => {
      const base = field === 'rate' ? empty : yard;
      const shares = ratios(pick(name, field), pick(base, field));
      const target = targets[name]?.[field];
      const share = judged(median(shares), target);
      return [spread(pick(name, field)), target ? `${share} (${interval(shares)})` : share];
    }),
  ]);
  const share = yard === empty ? '÷ first row' : '÷ bare script';
  const head = ['decisions/s', yard === empty ? share : '÷ `return 1`', 'p50 µs', share];
  return table([title, ...head, 'client CPU µs', share, 'server CPU µs', share], rows);
}

async function turns(children, names, inFlight, held = []) {
  const turn = (name) => children[name].call('turn', inFlight, TURN_MS);
  const results = await inRounds(ROUNDS, names, turn);
  if (held.length === 0) return results;
  const more = await inRounds(MORE_ROUNDS[inFlight], held, turn);
  for (const [name, some] of more) results.get(name).push(...some);
  return results;
}

async function measure(port, say) {
  const all = { ...contenders, ...threefold };
  const children = {};
  const bytes = {};
  for (const name of Object.keys(all)) {
    const args = [name, `${port}`];
    children[name] = startChild(import.meta.url, './worker.js', { args, core: CLIENT_CORE });
    bytes[name] = await children[name].call('bytes');
  }
  // Warms up twice: with 100 in flight, contenders that share calls make too few for V8 to compile their code.
  for (const name of Object.keys(all)) {
    await children[name].call('turn', 100, 300);
    await children[name].call('turn', 1, WARM_MS);
  }
  const parts = [];
  for (const inFlight of IN_FLIGHT) {
    say(`Redis, ${inFlight} in flight`);
    const roles = { yard: 'gcra', empty: 'one', targets: TARGETS[inFlight] };
    const held = roles.targets ? ['gcra', 'one', ...Object.keys(roles.targets)] : [];
    const results = await turns(children, Object.keys(contenders), inFlight, held);
    parts.push(tableOf(`${inFlight} in flight`, contenders, results, roles));
  }
  parts.push('Three limits on one request; a decision is all three:');
  for (const inFlight of [1, 100]) {
    say(`Redis, three limits, ${inFlight} in flight`);
    const results = await turns(children, Object.keys(threefold), inFlight);
    parts.push(
      tableOf(`${inFlight} in flight`, threefold, results, { yard: 'three', empty: 'three' }),
    );
  }
  const held = Object.entries(contenders).filter(([name]) => bytes[name] > 10 && name !== 'single');
  const rows = held.map(([name, { title }]) => [title, digits(bytes[name])]);
  parts.push(table(['Memory of the server, names included', 'bytes/key'], rows));
  for (const child of Object.values(children)) child.end();
  return parts.join('\n\n');
}

export const redisTables = (say) =>
  onOneServer([measure, leaseTables, logTables, logRateTables], say);

export const settledTables = (say) => onOneServer([settledTable], say);

async function onOneServer(all, say) {
  const program = findRedis();
  if (!program) {
    const missing = '**Not measured: no redis-server or valkey-server was found.**';
    console.warn(`\n${'!'.repeat(80)}\n${missing}\n${'!'.repeat(80)}\n`);
    return missing;
  }
  const server = await startRedis(program, SERVER_CORE);
  try {
    const parts = [];
    for (const part of all) parts.push(await part(server.port, say));
    return parts.join('\n\n');
  } finally {
    server.stop();
  }
}
