/** A TCP proxy whose answers come late. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Runs until the end of the test. */
export async function slowProxy(host: string, port: number) {
  const proxy = { port: 0, delayMs: 0, chunks: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, host);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
    }
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    client.on('data', (chunk) => {
      proxy.chunks += 1;
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      // Timers with the same delay fire in order.
      if (proxy.delayMs === 0) client.write(chunk);
      else setTimeout(() => client.write(chunk), proxy.delayMs);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy.port = (server.address() as AddressInfo).port;
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return proxy;
}
