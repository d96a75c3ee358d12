/** The cost of an idempotency key for Redis, and the cost of the limiter for a request that has no key. */

import { startChild } from '../harness/child.js';
import { findRedis, startRedis } from '../harness/redis-server.js';
import { inRounds } from '../harness/rounds.js';
import { ratio, spread } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';

const ROUNDS = 9;
const COUNT = 1_000;

/** The rows, each with its base for comparison and its target. */
const KINDS = {
  limits: { title: '_three token buckets_', base: 'limits' },
  admission: {
    title: 'a claim and the three, in one call',
    base: 'limits',
    target: ['Redis, admission with a claim: server CPU ÷ three token buckets', '<=', 1.4],
  },
  firstUse: {
    title: 'the same, then 1 kB kept, then done',
    base: 'limits',
    target: ['Redis, a whole first use: server CPU ÷ three token buckets', '<=', 2.3],
  },
  repeat: {
    title: 'a repeat: the claim and the three, then the answer',
    base: 'admission',
    target: ['Redis, a repeat: server CPU ÷ admission with a claim', '<=', 1.5],
  },
  permit: { title: '_three token buckets and a permit, given back_', base: 'permit' },
  firstUseAndPermit: {
    title: 'the same with a whole first use',
    base: 'permit',
    target: ['Redis, a whole first use beside a permit: server CPU ÷ without', '<=', 1.4],
  },
};

/** The variants of the gate's list of limiters. */
const LISTS = {
  without: { title: '_three limits_' },
  off: { title: 'the same with a limit that is off' },
  within: {
    title: 'the same with `idempotency`',
    target: ['Memory, a GET with `idempotency` in the list: CPU ÷ without', '<=', 1.1],
  },
};

async function inRedis(port, say) {
  const child = startChild(import.meta.url, './worker.js', { args: [`${port}`], core: 0 });
  await child.call('fill');
  const names = Object.keys(KINDS);
  const parts = [];
  for (const inFlight of [1, 100]) {
    say(`idempotency keys in Redis, ${inFlight} in flight`);
    for (const name of names) await child.call('turn', name, COUNT, inFlight); // to warm up
    const turn = (name) => child.call('turn', name, COUNT, inFlight);
    const results = await inRounds(ROUNDS, names, turn);
    const rows = names.map((name) => {
      const { title, base, target } = KINDS[name];
      const held = inFlight === 1 ? target : undefined;
      return [
        title,
        spread(results.get(name)),
        judged(ratio(results.get(name), results.get(base)), held),
        KINDS[base].title,
      ];
    });
    const how = inFlight === 1 ? 'one at a time' : `${inFlight} at a time, coalesced`;
    parts.push(table([`A request, ${how}`, 'server CPU µs', '÷ its base', 'base'], rows));
  }
  child.end();
  return parts.join('\n\n');
}

async function inMemory(say) {
  say('a GET past idempotency keys, in memory');
  const names = Object.keys(LISTS);
  const children = Object.fromEntries(
    names.map((name) => {
      return [name, startChild(import.meta.url, './get-worker.js', { args: [name], core: 0 })];
    }),
  );
  for (const name of names) await children[name].call('turn'); // to warm up
  const results = await inRounds(ROUNDS, names, (name) => children[name].call('turn'));
  for (const child of Object.values(children)) child.end();
  const rows = names.map((name) => {
    const share = ratio(results.get(name), results.get('without'));
    const { title, target } = LISTS[name];
    return [title, spread(results.get(name)), judged(share, target)];
  });
  return table(['A GET past a gate, in memory', 'CPU ns', '÷ without'], rows);
}

export async function onceTables(say) {
  const parts = [await inMemory(say)];
  const program = findRedis();
  if (!program)
    return [...parts, '**Not measured: no redis-server or valkey-server was found.**'].join('\n\n');
  const server = await startRedis(program, 1);
  try {
    parts.unshift(await inRedis(server.port, say));
  } finally {
    server.stop();
  }
  return parts.join('\n\n');
}
