/** A way to Redis that can turn into a black hole: it takes what it is sent, passes nothing on, and in the end gives all back. */

import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface BlackHole {
  readonly port: number;
  swallow(): void;
  giveBack(): void;
  /** The machine is gone: what is connected stays so and says nothing, as if for ever; who connects anew meets another machine. */
  vanish(): void;
}

/** Until the test is finished. */
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
