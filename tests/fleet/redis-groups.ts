/**
 * Redis servers that replace each other: a master and a replica with three sentinels, and a Cluster of three masters
 * and three replicas. They end with the test.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { until } from 'spillway-testkit';
import {
  assignSlots,
  freePort,
  type RedisServer,
  redisProgram,
  startServer,
} from 'spillway-testkit/redis';
import { onTestFinished } from 'vitest';

const FAST_REPLICA = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];

const SLOTS = 16_384;

/** Polls seldom, because each look is a command that keeps servers from agreeing on a busy machine. */
const soon = (condition: () => Promise<boolean>): Promise<void> => until(condition, 60_000, 50);

export interface Failover {
  /** The addresses that a client starts from. */
  readonly entries: readonly { readonly host: string; readonly port: number }[];
  /** From now on, no write of the master reaches its replica. */
  cutReplication(): Promise<void>;
  killMaster(): Promise<void>;
  /** Its connections stay open, and nothing is answered. */
  freezeMaster(): void;
  /** Resolves when another server has taken its place and clients can find it. */
  replaced(): Promise<void>;
}

/** A master named `main`, its replica, and three sentinels that declare it down after half a second. */
export async function startSentinels(): Promise<Failover> {
  const master = await ownServer();
  const replica = await ownServer('--replicaof', '127.0.0.1', `${master.port}`, ...FAST_REPLICA);
  const eye = admin(replica.port);
  await soon(async () => (await eye.info('replication')).includes('master_link_status:up'));
  const entries = [];
  for (let i = 0; i < 3; i += 1)
    entries.push({ host: '127.0.0.1', port: await sentinel(master.port) });
  for (const { port } of entries) {
    const client = admin(port);
    await soon(async () => {
      const [main] = (await client.call('SENTINEL', 'MASTERS')) as string[][];
      const fields = new Map<string, string>();
      for (let i = 0; i < (main?.length ?? 0); i += 2)
        fields.set(`${main?.[i]}`, `${main?.[i + 1]}`);
      return fields.get('num-other-sentinels') === '2' && fields.get('num-slaves') === '1';
    });
  }
  const watcher = admin(entries[0]?.port ?? 0);
  return {
    entries,
    cutReplication: () => cutReplication(admin(master.port)),
    killMaster: () => master.kill(),
    freezeMaster: () => master.freeze(),
    replaced: () => soon(async () => (await masterPortBy(watcher)) === `${replica.port}`),
  };
}

async function sentinel(masterPort: number): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'spillway-sentinel-'));
  const port = await freePort();
  const lines = [
    `port ${port}`,
    `dir ${dir}`,
    `sentinel monitor main 127.0.0.1 ${masterPort} 2`,
    'sentinel down-after-milliseconds main 500',
    'sentinel failover-timeout main 3000',
  ];
  const file = join(dir, 'sentinel.conf');
  writeFileSync(file, lines.join('\n'));
  const child = spawn(redisProgram ?? '', [file, '--sentinel'], { stdio: 'ignore' });
  onTestFinished(() => {
    child.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  });
  return port;
}

/** Three masters with a replica each. The first master is the one that is killed. */
export async function startClusterOfSix(): Promise<Failover> {
  const flags = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000'];
  const servers: RedisServer[] = [];
  for (let i = 0; i < 6; i += 1) {
    const own = ['--cluster-replica-validity-factor', '0', ...FAST_REPLICA];
    servers.push(await ownServer(...flags, ...own));
  }
  const nodes = servers.map(({ port }) => admin(port));
  const [first] = nodes as [Redis, ...Redis[]];
  await assignSlots(nodes.slice(0, 3));
  for (const { port } of servers.slice(1)) await first.cluster('MEET', '127.0.0.1', port);
  for (const node of nodes) {
    await soon(async () => (await node.cluster('INFO')).includes('cluster_known_nodes:6'));
  }
  for (const [i, node] of nodes.slice(3).entries()) {
    const master = String(await (nodes[i] as Redis).cluster('MYID'));
    await soon(() =>
      node.call('CLUSTER', 'REPLICATE', master).then(
        () => true,
        () => false,
      ),
    );
    await soon(async () => (await node.info('replication')).includes('master_link_status:up'));
  }
  for (const node of nodes) {
    await soon(async () => (await node.cluster('INFO')).includes('cluster_state:ok'));
  }
  const heir = nodes[3] as Redis;
  return {
    entries: servers.map(({ port }) => ({ host: '127.0.0.1', port })),
    cutReplication: () => cutReplication(first),
    killMaster: async () => servers[0]?.kill(),
    freezeMaster: () => servers[0]?.freeze(),
    replaced: () => soon(async () => (await heir.info('replication')).includes('role:master')),
  };
}

export interface Shards {
  readonly ports: readonly number[];
  /** Keys on the first master, and as many on others. */
  keys(amount: number): Promise<{ ofFirst: string[]; ofOthers: string[] }>;
  killFirst(): Promise<void>;
  freezeFirst(): void;
  thawFirst(): void;
}

/** Three masters without replicas, each of which continues without the others. */
export async function startShards(): Promise<Shards> {
  const servers: RedisServer[] = [];
  for (let i = 0; i < 3; i += 1) {
    const flags = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000'];
    servers.push(await ownServer(...flags, '--cluster-require-full-coverage', 'no'));
  }
  const nodes = servers.map(({ port }) => admin(port));
  await assignSlots(nodes);
  for (const { port } of servers.slice(1)) await nodes[0]?.cluster('MEET', '127.0.0.1', port);
  for (const node of nodes) {
    await soon(async () => {
      const info = await node.cluster('INFO');
      return info.includes('cluster_slots_ok:16384') && info.includes('cluster_state:ok');
    });
  }
  return {
    ports: servers.map(({ port }) => port),
    keys: async (amount) => {
      const ofFirst: string[] = [];
      const ofOthers: string[] = [];
      while (ofFirst.length < amount || ofOthers.length < amount) {
        const key = `k${Math.random()}`;
        const slot = Number(await nodes[2]?.call('CLUSTER', 'KEYSLOT', key));
        (slot < SLOTS / 3 ? ofFirst : ofOthers).push(key);
      }
      return { ofFirst: ofFirst.slice(0, amount), ofOthers: ofOthers.slice(0, amount) };
    },
    killFirst: async () => servers[0]?.kill(),
    freezeFirst: () => servers[0]?.freeze(),
    thawFirst: () => servers[0]?.thaw(),
  };
}

async function cutReplication(master: Redis): Promise<void> {
  await master.acl('SETUSER', 'default', '-psync', '-sync');
  await master.call('CLIENT', 'KILL', 'TYPE', 'replica');
}

async function masterPortBy(sentinelClient: Redis): Promise<string | undefined> {
  const address = await sentinelClient.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'main');
  return (address as string[] | null)?.[1];
}

async function ownServer(...args: string[]): Promise<RedisServer> {
  const server = await startServer(undefined, ...args);
  onTestFinished(() => server.kill());
  return server;
}

function admin(port: number): Redis {
  const client = new Redis(port, { retryStrategy: () => 20 });
  client.on('error', () => undefined);
  onTestFinished(() => client.disconnect());
  return client;
}
