/** A command ends in time, whatever Redis does: people use it when something is wrong. */

import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { runningMs } from 'spillway-testkit';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { because, commandOnRedis, PASSWORD } from './command.js';

/** Accepts data, and never answers. */
async function blackHole(onSocket = (): void => {}): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    onSocket();
    socket.on('error', () => {});
    socket.resume();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function frozen(): Promise<string> {
  const server = await RedisServer.up();
  server.freeze();
  return server.url;
}

/**
 * Starts a proxy to a port, and returns its port.
 *
 * @param send sends the bytes of a client to the server, or does not
 */
async function proxyTo(
  port: number,
  send: (bytes: Buffer, server: Socket) => void,
): Promise<number> {
  const ends: Socket[] = [];
  const way = createServer((near) => {
    const far = createConnection(port, '127.0.0.1');
    ends.push(near, far);
    for (const socket of [near, far]) socket.on('error', () => {});
    near.on('data', (bytes) => send(bytes, far));
    far.on('data', (bytes) => near.write(bytes));
  }).listen(0, '127.0.0.1');
  await once(way, 'listening');
  onTestFinished(() => {
    way.close();
    for (const socket of ends) socket.destroy();
  });
  return (way.address() as AddressInfo).port;
}

/** A proxy to a server that freezes when the first script is on its way to it. */
async function freezing(server: RedisServer): Promise<string> {
  const port = await proxyTo(server.port, (bytes, far) => {
    if (bytes.includes('eval')) server.freeze();
    far.write(bytes);
  });
  return `redis://127.0.0.1:${port}`;
}

describe.skipIf(redisProgram === null)('spillway ends within some seconds with 1', () => {
  const { spillway } = commandOnRedis('own');

  async function timed(args: string[], url: string) {
    const fromMs = Date.now();
    const ended = await spillway([...args, '--redis', url]);
    return { ...ended, seconds: (Date.now() - fromMs) / 1000 };
  }

  it.each([
    ['frozen', frozen],
    ['a black hole', () => blackHole()],
  ])('when Redis is %s, and says what may not have been done', async (_, open) => {
    const url = await open();
    const [set, reset, status, watch] = await Promise.all([
      timed(['set', 'api', 'off', ...because], url),
      timed(['reset', 'api', 'ada'], url),
      timed(['status'], url),
      timed(['watch'], url),
    ]);
    for (const { code, seconds, err } of [set, reset, status, watch]) {
      expect(code).toBe(1);
      expect(err).toContain('did not answer within 5 s');
      // The start and the end of a process take some time on a busy machine.
      expect(seconds).toBeLessThan(20);
    }
    for (const { err } of [set, reset]) expect(err).toContain('may still be made later');
    expect(status.err + watch.err).not.toContain('may still be made later');
  });

  it('when a node of a Cluster is a black hole', async () => {
    const { code, err } = await timed(['status', '--cluster'], await blackHole());
    expect(code).toBe(1);
    expect(err).toMatch(/^error: no connection to Redis at 127\.0\.0\.1:\d+: timeout$/m);
  });

  it('when Redis freezes in between', async () => {
    const server = await RedisServer.up();
    const args = ['set', 'api', 'off', '--anyway', ...because];
    const ended = await timed(args, await freezing(server));
    expect(ended).toMatchObject({
      code: 1,
      err: expect.stringContaining('may still be made'),
    });
  });
});

describe.skipIf(redisProgram === null)('spillway watch', () => {
  const { port, start } = commandOnRedis('own');

  it('ends at Ctrl-C, although Redis has not answered its call', async () => {
    let isSilent = false;
    let called = (): void => {};
    const call = new Promise<void>((resolve) => {
      called = resolve;
    });
    const at = await proxyTo(port(), (bytes, far) => {
      if (isSilent) called();
      else far.write(bytes);
    });
    const child = start(['watch'], { REDIS_URL: `redis://:${PASSWORD}@127.0.0.1:${at}` });
    const gone = once(child, 'close');
    for await (const text of child.stderr ?? []) if (`${text}`.includes('Watching')) break;
    isSilent = true;
    await call;
    const waitedMs = await runningMs(async () => {
      child.kill('SIGINT');
      expect(await gone).toEqual([0, null]);
    });
    expect(waitedMs).toBeLessThan(3_000);
  });

  it.each(['watch', 'top'])('ends at Ctrl-C before Redis has answered at all: %s', async (name) => {
    let called = (): void => {};
    const call = new Promise<void>((resolve) => {
      called = resolve;
    });
    const child = start([name], { REDIS_URL: await blackHole(called) });
    const gone = once(child, 'close');
    await call;
    child.kill('SIGINT');
    // If it waited for its connection, it would end with 1.
    expect(await gone).toEqual([0, null]);
  });
});
