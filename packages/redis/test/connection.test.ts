import { systemClock } from '@spillway/core/store';
import { Cluster, Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { Redis as Valkey } from 'iovalkey';
import { delay } from 'spillway-testkit';
import { freePort, type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { redisStore } from '../src/index.js';
import { ask, slowProxy, untilDecided } from './asking.js';
import { nameOf, take } from './steps.js';

function quiet<C extends Redis | Redis5 | Valkey | Cluster>(client: C): C {
  (client as unknown as Redis).on('error', () => {}); // ioredis would print them
  onTestFinished(() => client.disconnect());
  return client;
}

const clients = [
  { name: 'ioredis 6', connect: (port: number, options = {}) => quiet(new Redis(port, options)) },
  { name: 'ioredis 5', connect: (port: number, options = {}) => quiet(new Redis5(port, options)) },
  { name: 'iovalkey', connect: (port: number, options = {}) => quiet(new Valkey(port, options)) },
] as const;

for (const { name, connect } of clients) {
  describe.skipIf(redisProgram === null)(`a default client of ${name}`, () => {
    let server: RedisServer | undefined;
    afterEach(async () => {
      await server?.kill();
      server = undefined;
    });

    it('is waited for while it connects, and leaves no listener', async () => {
      server = await startServer();
      for (const options of [{}, { lazyConnect: true }]) {
        const client = connect(server.port, options);
        const listeners = () =>
          ['ready', 'close', 'end'].map((event) => client.listenerCount(event));
        const store = redisStore(client);
        expect(client.status).not.toBe('ready');
        const asked = [1, 2, 3, 4].map((i) => store.apply([take(`${name} ${i}`)]));
        await delay(0);
        await Promise.all(asked);
        await delay(5); // connect() adds its own listeners, and removes them
        expect(listeners()).toEqual([0, 0, 0]);
      }
    });

    it('is not waited for beyond the deadline, and what waited is never sent', async () => {
      server = await startServer();
      const store = redisStore(connect(await slowProxy(server.port, 200)));
      const { result, tookMs } = await ask(store);
      expect(result).toBe('SPW_STORE_TIMEOUT');
      expect(tookMs).toBeLessThan(150);
      await store.apply([take('bob')]);
      expect(await connect(server.port).keys('*')).toEqual([nameOf('bob')]);
    });

    it('fails fast while Redis is down from the start, and works within a second of its coming', async () => {
      const port = await freePort();
      const store = redisStore(connect(port));
      const until = Date.now() + 1500; // by then ioredis's own delay has grown
      let worst = 0;
      while (Date.now() < until) {
        const { result, tookMs } = await ask(store);
        expect(result).toMatch(/^SPW_STORE_(UNAVAILABLE|TIMEOUT)$/);
        worst = Math.max(worst, tookMs);
        await delay(20);
      }
      expect(worst).toBeLessThan(200);
      server = await startServer(port);
      expect(await untilDecided(store)).toBeLessThan(1000);
    });

    it('works within a second of the return of a Redis that was killed, for as long as it was gone', async () => {
      server = await startServer();
      const { port } = server;
      const client = connect(port);
      const store = redisStore(client);
      await store.apply([take('ada')]);
      await server.kill();
      let attempts = 0;
      client.on('connecting', () => {
        attempts += 1;
      });
      const until = Date.now() + 2500;
      while (Date.now() < until) {
        expect((await ask(store)).result).toMatch(/^SPW_STORE/);
        await delay(20);
      }
      // About one every 250 ms, and ioredis's own: the two do not multiply.
      expect(attempts).toBeLessThan(30);
      server = await startServer(port);
      expect(await untilDecided(store)).toBeLessThan(1000);
      const clients = String(await client.client('LIST'))
        .trim()
        .split('\n');
      expect(clients).toHaveLength(1);
    });

    it('charges nothing late for what was under way when Redis was killed', async () => {
      server = await startServer();
      const { port } = server;
      const client = connect(port);
      const store = redisStore(client);
      await store.apply([take('bob')]);
      await connect(port).client('PAUSE', 10_000);
      const lost = store.apply([take('eve')], { deadlineUs: systemClock.nowUs() + 50_000 });
      lost.catch(() => {});
      await delay(60);
      await server.kill();
      server = await startServer(port);
      await untilDecided(store);
      await expect(lost).rejects.toMatchObject({ code: 'SPW_STORE_TIMEOUT' }); // ioredis has sent the call again
      expect(await client.exists(nameOf('eve'))).toBe(0);
    });

    it('is not used once it has ended', async () => {
      server = await startServer();
      const client = connect(server.port);
      const store = redisStore(client);
      await store.apply([take('ada')]);
      await client.quit();
      await delay(5);
      const { result, tookMs } = await ask(store);
      expect(result).toBe('SPW_STORE_UNAVAILABLE');
      expect(tookMs).toBeLessThan(40);
    });
  });
}

describe('a retryStrategy that gives up', () => {
  it('does not give up sooner because it is told to try', async () => {
    const counts: number[] = [];
    const client = quiet(
      new Redis(await freePort(), {
        retryStrategy: (times) => {
          counts.push(times);
          return 1000;
        },
      }),
    );
    const store = redisStore(client);
    while (counts.length < 5) {
      await ask(store);
      await delay(20);
    }
    expect(Math.max(...counts)).toBeLessThan(4);
  });
});

describe('a cluster that cannot be reached', () => {
  it('fails fast', async () => {
    const client = quiet(new Cluster([{ host: '127.0.0.1', port: await freePort() }]));
    const store = redisStore(client);
    for (let i = 0; i < 20; i += 1) {
      const { result, tookMs } = await ask(store);
      expect(result).toMatch(/^SPW_STORE/);
      expect(tookMs).toBeLessThan(200);
    }
  });
});
