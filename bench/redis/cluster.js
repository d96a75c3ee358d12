/** The cost of a Cluster of three masters compared with one server, for the same decisions. */

import { Redis } from 'ioredis';
import { joinCluster } from 'spillway-testkit/redis-cluster';
import { startChild } from '../harness/child.js';
import { findRedis, startRedis } from '../harness/redis-server.js';
import { inRounds } from '../harness/rounds.js';
import { ratio, spread } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { contenders, threefold } from './contenders.js';

const IN_FLIGHT = [1, 100];
const MASTERS = 3;
const ROUNDS = 9;
const TURN_MS = 120;
const WARM_MS = 500;
const CLIENT_CORE = 0;
const SERVER_CORE = 1;

const TITLES = {
  gcra: contenders.gcra.title,
  apply: contenders.apply.title,
  single: contenders.single.title,
  apply3: `three limits on one request: ${threefold.apply3.title}`,
};
const FIELDS = ['rate', 'p50Us', 'clientUs', 'serverUs'];

function tableOf(inFlight, results) {
  const pick = (name, field) => results.get(name).map((turn) => turn[field]);
  const row = (title, name, size) => [
    title,
    ...FIELDS.flatMap((field) => {
      const own = pick(`${name} ${size}`, field);
      return [spread(own), ratio(own, pick(`${name} 1`, field)).toFixed(2)];
    }),
  ];
  const rows = Object.entries(TITLES).flatMap(([name, title]) => [
    row(`${title}: one server`, name, 1),
    row('the same: three masters', name, MASTERS),
  ]);
  const share = '÷ one server';
  const head = ['decisions/s', share, 'p50 µs', share, 'client CPU µs', share];
  return table(
    [
      `One server and a Cluster, ${inFlight} in flight`,
      ...head,
      'server CPU µs, all masters',
      share,
    ],
    rows,
  );
}

async function measure(portsOf, say) {
  const children = {};
  for (const name of Object.keys(TITLES)) {
    for (const [size, ports] of Object.entries(portsOf)) {
      const args = [name, ...ports.map(String)];
      const child = startChild(import.meta.url, './worker.js', { args, core: CLIENT_CORE });
      children[`${name} ${size}`] = child;
      for (const inFlight of IN_FLIGHT) await child.call('turn', inFlight, WARM_MS);
    }
  }
  const parts = [];
  for (const inFlight of IN_FLIGHT) {
    say(`Redis Cluster, ${inFlight} in flight`);
    const turn = (name) => children[name].call('turn', inFlight, TURN_MS);
    parts.push(tableOf(inFlight, await inRounds(ROUNDS, Object.keys(children), turn)));
  }
  for (const child of Object.values(children)) child.end();
  return parts.join('\n\n');
}

export async function clusterTables(say) {
  const program = findRedis();
  if (!program) return '**Not measured: no redis-server or valkey-server was found.**';
  const servers = [await startRedis(program, SERVER_CORE)];
  for (let i = 0; i < MASTERS; i += 1) {
    servers.push(await startRedis(program, SERVER_CORE, ['--cluster-enabled', 'yes']));
  }
  const [one, ...masters] = servers.map(({ port }) => port);
  const nodes = masters.map((port) => new Redis(port, '127.0.0.1'));
  try {
    await joinCluster(nodes);
    return await measure({ 1: [one], [MASTERS]: masters }, say);
  } finally {
    for (const node of nodes) node.disconnect();
    for (const server of servers) server.stop();
  }
}
