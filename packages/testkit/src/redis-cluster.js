/** Joins servers to a cluster. Plain JavaScript, because the benchmarks run this file in Node without a build. */

import { setTimeout as delay } from 'node:timers/promises';

const SLOTS = 16_384;
const PATIENCE_MS = 30_000;

export async function assignSlots(masters) {
  for (const [i, master] of masters.entries()) {
    const from = Math.ceil((i * SLOTS) / masters.length);
    const to = Math.ceil(((i + 1) * SLOTS) / masters.length);
    const slots = Array.from({ length: to - from }, (_, slot) => from + slot);
    await master.cluster('ADDSLOTS', ...slots);
  }
}

export async function joinCluster(nodes) {
  await assignSlots(nodes);
  for (const node of nodes) {
    for (const { options } of nodes) await node.cluster('MEET', '127.0.0.1', options.port);
  }
  const until = performance.now() + PATIENCE_MS;
  for (const node of nodes) {
    while (!isReady(await node.cluster('INFO'), nodes.length)) {
      if (performance.now() > until) throw new Error('the nodes make no cluster');
      await delay(50);
    }
  }
}

function isReady(info, known) {
  return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${known}\r`);
}
