/** Looks at a Redis: what the checks of `doctor` need, each read on its own, so that one refusal hides nothing else. */

import { createHash, randomUUID } from 'node:crypto';
import type { KnownLimiter, RedisControl } from '@spillway/redis';
import { Cluster, type Redis } from 'ioredis';
import { isRefusal, RIGHTS_SCRIPT, type Rights, rightsFrom } from './rights.js';

/** One server. */
export interface ServerFacts {
  readonly address: string;
  /** The half of five calls came back faster than this. */
  readonly roundTripMs: number;
  /** What `INFO` says, by name; undefined if it may not be read. */
  readonly info?: ReadonlyMap<string, string>;
  /** How far the clock of the server is ahead of ours; undefined if it may not be read. */
  readonly aheadMs?: number;
}

export interface Facts {
  readonly isCluster: boolean;
  readonly servers: readonly ServerFacts[];
  readonly prefix: string;
  /** Or the error that the script met as a whole. */
  readonly rights: Rights | Error;
  /** Or the error of the attempt to read them. */
  readonly limiters: readonly KnownLimiter[] | Error;
}

const PINGS = 5;

export async function factsOf(
  client: Redis | Cluster,
  control: RedisControl,
  prefix: string,
): Promise<Facts> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  const servers: ServerFacts[] = [];
  for (const node of nodes) servers.push(await serverFacts(node));
  return {
    isCluster: client instanceof Cluster,
    servers,
    prefix,
    rights: await orError(rightsOn(client, prefix)),
    limiters: await orError(control.limiters()),
  };
}

async function serverFacts(node: Redis): Promise<ServerFacts> {
  const { host, port } = node.options;
  const times: number[] = [];
  for (let i = 0; i < PINGS; i += 1) times.push((await timed(() => node.ping())).ms);
  const roundTripMs = times.sort((a, b) => a - b)[Math.floor(PINGS / 2)] ?? 0;
  const info = await orError(node.info());
  const clock = await timed(() => orError(node.time()));
  return {
    address: `${host?.includes(':') ? `[${host}]` : host}:${port}`,
    roundTripMs,
    ...(!(info instanceof Error) && { info: infoFrom(info) }),
    ...(!(clock.value instanceof Error) && {
      aheadMs: Number(clock.value[0]) * 1000 + Number(clock.value[1]) / 1000 - clock.middleMs,
    }),
  };
}

/** The script runs by its text and by its hash, as those of the store do. */
async function rightsOn(client: Redis | Cluster, prefix: string): Promise<Rights> {
  const key = `${prefix}{%doctor}${randomUUID()}`;
  const reply = await client.eval(RIGHTS_SCRIPT, 1, key);
  const rights = rightsFrom(reply);
  const sha = createHash('sha1').update(RIGHTS_SCRIPT).digest('hex');
  const again = await orError(client.evalsha(sha, 1, key));
  const isRefused = again instanceof Error && isRefusal(again.message);
  return isRefused ? { ...rights, missing: ['evalsha', ...rights.missing] } : rights;
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
