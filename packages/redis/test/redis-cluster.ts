/** A cluster for the tests. */

import { Redis } from 'ioredis';
import { delay, type Server, startServer } from './redis.js';

const SLOTS = 16_384;

/** Three masters, each with a third of the slots. */
export async function startCluster(): Promise<{ servers: Server[]; nodes: Redis[] }> {
  const servers: Server[] = [];
  for (let i = 0; i < 3; i += 1) {
    servers.push(await startServer(undefined, '--cluster-enabled', 'yes'));
  }
  const nodes = servers.map(({ port }) => new Redis(port));
  for (const [i, node] of nodes.entries()) {
    const from = Math.ceil((i * SLOTS) / 3);
    const to = Math.ceil(((i + 1) * SLOTS) / 3);
    const slots = Array.from({ length: to - from }, (_, slot) => from + slot);
    await node.cluster('ADDSLOTS', ...slots);
    for (const { port } of servers) await node.cluster('MEET', '127.0.0.1', port);
  }
  for (const node of nodes) {
    for (;;) {
      const info = await node.cluster('INFO');
      if (/cluster_state:ok/.test(info) && /cluster_known_nodes:3/.test(info)) break;
      await delay(50);
    }
  }
  return { servers, nodes };
}
