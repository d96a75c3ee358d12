/** Decisions for requests that arrive at random, over a network: the wait of each, by the arrival rate. */

import { startChild } from '../harness/child.js';
import { findRedis, startRedis } from '../harness/redis-server.js';
import { inRounds } from '../harness/rounds.js';
import { digits, quantile, ratio, spread } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';
import { contenders } from './contenders.js';

const RATES = [2_000, 10_000, 30_000];
const NAMES = ['one', 'gcra', 'apply', 'single'];
const ROUNDS = 50;
const TURN_MS = 120;
const PARTS = 5;
const QUANTILES = [
  ['p50Us', 0.5],
  ['p99Us', 0.99],
];
const WARM_MS = 2_000;
const WARM_RATE = 10_000;
const CLIENT_CORE = 0;
const SERVER_CORE = 1;

const target = (name, rate, field) => {
  if (name !== 'apply' && name !== 'single') return undefined;
  const who = name === 'apply' ? 'coalesced' : '`coalesce: false`';
  const what = field === 'p50Us' ? 'p50' : 'p99';
  const many = rate.toLocaleString('en');
  return [
    `Redis over 0.5 ms, ${many} random arrivals/s, ${who}: ${what} ÷ bare script`,
    '<=',
    1.05,
  ];
};

/** A quantile of all waits of several turns, because one turn has too few waits for a 99th percentile. */
function waitOf(turns, share) {
  return quantile(
    turns.flatMap(({ waits }) => waits),
    share,
  );
}

/** Drops the slowest fifth of the turns. Otherwise a few pauses of the machine would determine the 99th percentile. */
function calm(turns) {
  const worst = (turn) => waitOf([turn], 0.99);
  const sorted = turns.map((turn) => ({ turn, wait: worst(turn) })).sort((a, b) => a.wait - b.wait);
  const kept = new Set(sorted.slice(0, Math.ceil(0.8 * turns.length)).map(({ turn }) => turn));
  return turns.filter((turn) => kept.has(turn));
}

/** The least and the largest ratio if any fifth of the rounds is left out, which shows how much a few rounds matter. */
function without(turns, yard, share) {
  const parts = Array.from({ length: PARTS }, (_, part) => {
    const some = (all) => all.filter((_, round) => round % PARTS !== part);
    return waitOf(some(turns), share) / waitOf(some(yard), share);
  });
  return `${digits(Math.min(...parts))} to ${digits(Math.max(...parts))}`;
}

function tableOf(rate, results) {
  const yard = calm(results.get('gcra'));
  const rows = NAMES.map((name) => {
    const turns = calm(results.get(name));
    const waits = QUANTILES.flatMap(([field, share]) => {
      const wait = waitOf(turns, share);
      const held = target(name, rate, field);
      const times = judged(wait / waitOf(yard, share), held);
      return [digits(wait), held ? `${times} (${without(turns, yard, share)})` : times];
    });
    const spent = (one) => results.get(one).map(({ clientUs }) => clientUs);
    return [
      contenders[name].title,
      ...waits,
      spread(spent(name)),
      digits(ratio(spent(name), spent('gcra'))),
    ];
  });
  const share = '÷ bare script';
  const head = ['p50 µs', share, 'p99 µs', share, 'client CPU µs', share];
  return table([`${rate.toLocaleString('en')} arrivals/s`, ...head], rows);
}

async function measure(port, say) {
  const source = startChild(import.meta.url, './arrivals-source.js');
  const children = {};
  const ports = {};
  for (const name of NAMES) {
    const args = [name, `${port}`];
    children[name] = startChild(import.meta.url, './arrivals-worker.js', {
      args,
      core: CLIENT_CORE,
    });
    ports[name] = await children[name].call('listen');
  }
  const turn = async (name, rate, ms = TURN_MS) => {
    await children[name].call('begin');
    await source.call('send', ports[name], rate, ms);
    return children[name].call('end');
  };
  for (const name of NAMES) await turn(name, WARM_RATE, WARM_MS);
  const parts = [];
  for (const rate of RATES) {
    say(`Redis over a network, ${rate} random arrivals a second`);
    parts.push(tableOf(rate, await inRounds(ROUNDS, NAMES, (name) => turn(name, rate))));
  }
  for (const child of [source, ...Object.values(children)]) child.end();
  return parts.join('\n\n');
}

export async function arrivalTables(say) {
  const program = findRedis();
  if (!program) return '**Not measured: no redis-server or valkey-server was found.**';
  const server = await startRedis(program, SERVER_CORE);
  const network = startChild(import.meta.url, './delay.js');
  try {
    return await measure(await network.call('proxy', server.port), say);
  } finally {
    network.end();
    server.stop();
  }
}
