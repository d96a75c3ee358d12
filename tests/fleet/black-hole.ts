/**
 * A proxy to Redis that can become a black hole: it accepts data but forwards nothing, until `giveBack` forwards all of
 * it.
 */

import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface BlackHole {
  readonly port: number;
  swallow(): void;
  giveBack(): void;
  /** The machine is gone: open connections stay open and silent; new connections reach another machine. */
  vanish(): void;
}

/** Runs until the end of the test. */
export async function blackHole(redisPort: number): Promise<BlackHole> {
  const sockets = new Set<Socket>();
  let swallows = false;
  const server = createServer((near) => {
    const far = createConnection({ port: redisPort, host: '127.0.0.1' });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => to.write(bytes));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      if (swallows) from.pause();
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    swallow() {
      swallows = true;
      for (const socket of sockets) socket.pause();
    },
    vanish() {
      for (const socket of sockets) socket.pause();
    },
    giveBack() {
      swallows = false;
      for (const socket of sockets) socket.resume();
    },
  };
}
