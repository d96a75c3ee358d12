/** Each fact comes from a separate call. So a missing permission hides only one fact. */

import { createHash, randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { KnownLimiter, RedisControl } from '@spillway/redis';
import type { Cluster, Redis } from 'ioredis';
import { isRefusal, RIGHTS_SCRIPT, type Rights, rightsFrom } from './rights.js';

export interface ServerFacts {
  readonly address: string;
  readonly medianRoundTripMs: number;
  /** The fields in the reply to `INFO`, by name; undefined if the user may not run `INFO`. */
  readonly info?: ReadonlyMap<string, string>;
  /** How far the server's clock is ahead of this machine's; undefined if the user may not read it. */
  readonly aheadMs?: number;
  /**
   * For a Cluster node: whether the Cluster rejects calls for all keys while a node and its replicas are down.
   * Undefined if the user may not read this setting, or the provider hides it.
   */
  readonly wantsFullCoverage?: boolean;
}

export interface Facts {
  readonly isCluster: boolean;
  readonly servers: readonly ServerFacts[];
  readonly prefix: string;
  readonly rights: Rights | Error;
  readonly limiters: readonly KnownLimiter[] | Error;
  readonly settingsLost: boolean | Error;
}

const PINGS = 5;
const FULL_COVERAGE = 'cluster-require-full-coverage';

export async function factsOf(
  client: Redis | Cluster,
  control: RedisControl,
  prefix: string,
): Promise<Facts> {
  const { isCluster } = client;
  const nodes = 'nodes' in client ? client.nodes('master') : [client];
  const servers: ServerFacts[] = [];
  for (const node of nodes) servers.push(await serverFacts(node, isCluster));
  return {
    isCluster,
    servers,
    prefix,
    rights: await orError(rightsOn(client, prefix)),
    limiters: await orError(control.limiters()),
    settingsLost: await orError(control.list().then(() => control.settingsLost)),
  };
}

async function serverFacts(node: Redis, isNode: boolean): Promise<ServerFacts> {
  const { host, port } = addressOf(node);
  const times: number[] = [];
  for (let i = 0; i < PINGS; i += 1) times.push((await timed(() => ping(node))).ms);
  const medianRoundTripMs = times.sort((a, b) => a - b)[Math.floor(PINGS / 2)] ?? 0;
  const info = await orError(node.info());
  const clock = await timed(() => orError(node.time()));
  const coverage = isNode ? await orError(node.config('GET', FULL_COVERAGE)) : [];
  return {
    address: `${host?.includes(':') ? `[${host}]` : host}:${port}`,
    medianRoundTripMs,
    ...(!(info instanceof Error) && { info: infoFrom(info) }),
    ...(Array.isArray(coverage) &&
      coverage.length === 2 && { wantsFullCoverage: coverage[1] === 'yes' }),
    ...(!(clock.value instanceof Error) && {
      aheadMs: Number(clock.value[0]) * 1000 + Number(clock.value[1]) / 1000 - clock.middleMs,
    }),
  };
}

/** An error of the server, such as for a missing permission or while it is loading, takes a round trip too. */
async function ping(node: Redis): Promise<void> {
  const reply = await orError<unknown>(node.ping());
  if (reply instanceof Error && reply.name !== 'ReplyError') throw reply;
}

/**
 * Returns the address of the node. With sentinels, the options of the client contain only the addresses of the
 * sentinels, so the address of the node is read from the socket.
 */
function addressOf({ options, stream }: Redis): { host?: string; port?: number } {
  const { host, port } = options;
  if (!options.sentinels) return { ...(host && { host }), ...(port && { port }) };
  const { remoteAddress, remotePort } = stream as Socket;
  return { host: remoteAddress ?? 'the master', ...(remotePort && { port: remotePort }) };
}

/**
 * Runs {@link RIGHTS_SCRIPT} by EVAL and by EVALSHA, because the store uses both. On a Cluster, it also runs `CLUSTER
 * INFO`, because clients of ioredis need that.
 */
async function rightsOn(client: Redis | Cluster, prefix: string): Promise<Rights> {
  const key = `${prefix}{%doctor}${randomUUID()}`;
  const reply = await client.eval(RIGHTS_SCRIPT, 1, key);
  const rights = rightsFrom(reply);
  const sha = createHash('sha1').update(RIGHTS_SCRIPT).digest('hex');
  const missing = [
    ...(await refused('evalsha', client.evalsha(sha, 1, key))),
    ...(client.isCluster ? await refused('cluster|info', client.cluster('INFO')) : []),
  ];
  return { ...rights, missing: [...missing, ...rights.missing] };
}

async function refused(command: string, call: Promise<unknown>): Promise<string[]> {
  const reply = await orError(call);
  return reply instanceof Error && isRefusal(reply.message) ? [command] : [];
}

function infoFrom(text: string): ReadonlyMap<string, string> {
  return new Map(
    [...text.matchAll(/^([^#:\r\n]+):([^\r\n]*)/gm)].map(([, k = '', v = '']) => [k, v]),
  );
}

async function timed<Value>(call: () => Promise<Value>) {
  const start = Date.now();
  const startMs = performance.now();
  const value = await call();
  const ms = performance.now() - startMs;
  return { value, ms, middleMs: start + ms / 2 };
}

function orError<Value>(promise: Promise<Value>): Promise<Value | Error> {
  return promise.catch((error: Error) => error);
}
