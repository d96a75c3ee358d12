/// <reference path="./redis-global-setup.ts" />

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, inject, onTestFinished } from 'vitest';
import { joinCluster } from './redis-cluster.js';
import { freePort, startRedis } from './redis-process.js';

export { assignSlots } from './redis-cluster.js';
export { freePort } from './redis-process.js';

/** The server that all tests share; null if there is none. */
export const redisUrl: string | null = inject('redisUrl');

/** The program of a Redis server, for tests that start their own servers; null if there is none. */
export const redisProgram: string | null = inject('redisProgram');

/** Runs tests once for each available server, whose name is in the title. Without servers they are skipped. */
export function describeOnEachServer(
  what: string,
  tests: (start: (...args: string[]) => Promise<RedisServer>) => void,
): void {
  const servers = inject('redisServers');
  const some = servers.length > 0 ? servers : [{ name: 'no server here', program: '' }];
  describe.skipIf(servers.length === 0).each(some)(`${what} ($name)`, ({ program }) => {
    tests((...args) => RedisServer.start(undefined, args, program));
  });
}

/**
 * Registers a function that ends a server. A test passes `onTestFinished`, or a function that calls `end` in
 * `afterAll`.
 */
export type WhenDone = (end: () => void) => void;

export class RedisServer {
  readonly port: number;
  private readonly args: readonly string[];
  private readonly program: string;
  private child: ChildProcess | undefined;

  private constructor(port: number, args: readonly string[] = [], program = redisProgram ?? '') {
    this.port = port;
    this.args = args;
    this.program = program;
  }

  /** Picks a free port, without starting a server. */
  static async down(whenDone: WhenDone = onTestFinished): Promise<RedisServer> {
    const server = new RedisServer(await freePort());
    whenDone(() => void server.kill());
    return server;
  }

  static async up(whenDone: WhenDone = onTestFinished): Promise<RedisServer> {
    const server = await startServer();
    whenDone(() => void server.kill());
    return server;
  }

  static async start(
    port: number | undefined,
    args: readonly string[],
    program = redisProgram ?? '',
  ): Promise<RedisServer> {
    const started = await startRedis(program, { port, args });
    const server = new RedisServer(started.port, args, program);
    server.child = started.child;
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Restarts the server, without its data. */
  async start(): Promise<void> {
    const { port, args, program } = this;
    this.child = (await startRedis(program, { port, args })).child;
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }

  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  freeze(): void {
    this.child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.child?.kill('SIGCONT');
  }
}

/** Starts an empty server on loopback, at `port` or a free one. The caller must kill it. */
export function startServer(port?: number, ...args: string[]): Promise<RedisServer> {
  return RedisServer.start(port, args);
}

/** Starts a cluster of three masters, each with a third of the slots. The caller must kill the servers. */
export async function startCluster(): Promise<{ servers: RedisServer[]; nodes: Redis[] }> {
  const servers: RedisServer[] = [];
  for (let i = 0; i < 3; i += 1) {
    servers.push(await startServer(undefined, '--cluster-enabled', 'yes'));
  }
  const nodes = servers.map(({ port }) => new Redis(port));
  await joinCluster(nodes);
  return { servers, nodes };
}

/**
 * A cluster that the tests of a `describe` share. Its servers and clients are added to the lists before the first test.
 */
export function useCluster(): { readonly servers: RedisServer[]; readonly nodes: Redis[] } {
  const servers: RedisServer[] = [];
  const nodes: Redis[] = [];
  beforeAll(async () => {
    const started = await startCluster();
    servers.push(...started.servers);
    nodes.push(...started.nodes);
  });
  afterAll(async () => {
    for (const node of nodes) node.disconnect();
    for (const server of servers) await server.kill();
  });
  return { servers, nodes };
}
