import type { ChildProcess } from 'node:child_process';

export interface RedisProcess {
  readonly port: number;
  readonly url: string;
  readonly child: ChildProcess;
  readonly stop: () => void;
}

/** A server for tests: its name, such as `Valkey 8.1.1`, and its program. */
export interface ServerProgram {
  readonly name: string;
  readonly program: string;
}

/**
 * The program of `SPILLWAY_REDIS_SERVER`, or else the first of `redis-server` and `valkey-server` on PATH; null if
 * there is none.
 *
 * @throws Error if `SPILLWAY_REDIS_SERVER` is set, but can't be run
 */
export function findRedis(): string | null;

/**
 * All available servers: that of {@link findRedis}, then those that `tools/servers.sh` has downloaded. Each version is
 * listed once. If `SPILLWAY_REDIS_SERVER` is set, the list has only that server.
 */
export function findServers(): ServerProgram[];

/** A free port whose cluster bus port, 10,000 above, is free too. */
export function freePort(): Promise<number>;

/**
 * Starts an empty server on loopback without persistence, and waits until it accepts connections.
 *
 * @throws Error if it does not start on `port` or, without `port`, on any of ten free ports
 */
export function startRedis(
  program: string,
  options?: { readonly port?: number | undefined; readonly args?: readonly string[] },
): Promise<RedisProcess>;
