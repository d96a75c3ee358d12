import type { ChildProcess } from 'node:child_process';

export interface RedisProcess {
  readonly port: number;
  readonly url: string;
  readonly child: ChildProcess;
  /** Ends it as a crash does, and removes its directory. */
  readonly stop: () => void;
}

/** The first of `redis-server` and `valkey-server` that can be run; null if there is none. */
export function findRedis(): string | null;

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
