import type { ChildProcess } from 'node:child_process';

export interface RedisProcess {
  readonly port: number;
  readonly url: string;
  readonly child: ChildProcess;
  /** Ends it as a crash does, and removes its directory. */
  readonly stop: () => void;
}

/** A server that tests run on: its name, such as `Valkey 8.1.1`, and its program. */
export interface ServerProgram {
  readonly name: string;
  readonly program: string;
}

/**
 * The program of `SPILLWAY_REDIS_SERVER`, else the first of `redis-server` and `valkey-server` on PATH; null if there
 * is none.
 *
 * @throws Error if `SPILLWAY_REDIS_SERVER` is set, and is no server that can be run.
 */
export function findRedis(): string | null;

/**
 * Every server that can be had, that of {@link findRedis} first: after it those that `tools/servers.sh` brought. If
 * `SPILLWAY_REDIS_SERVER` is set, that server alone.
 */
export function findServers(): ServerProgram[];

/** A port on which nobody listens, nor on that of a cluster's bus, 10,000 above. */
export function freePort(): Promise<number>;

/**
 * Starts an empty server on loopback that keeps nothing on disk, and waits until it takes connections.
 *
 * @throws Error if it does not start on `port`; without a port, if it does not start on any of ten.
 */
export function startRedis(
  program: string,
  options?: { readonly port?: number | undefined; readonly args?: readonly string[] },
): Promise<RedisProcess>;
