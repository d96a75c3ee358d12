import type { Algorithm } from '@spillway/core';
import { makeRule, systemClock } from '@spillway/core/store';
import { createClient, RESP_TYPES } from 'redis';
import { createClient as createClient5 } from 'redis5';
import { delay } from 'spillway-testkit';
import { freePort, type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { redisStore } from '../src/index.js';
import { ask, slowProxy, untilDecided } from './asking.js';
import { nameOf, take } from './steps.js';

const ALGORITHMS: readonly Algorithm[] = [
  'token-bucket',
  'fixed-window',
  'sliding-window-counter',
  'sliding-window-log',
];

type Client = ReturnType<typeof createClient>;

/** As in the README: the client's own delay between connection attempts would grow to two seconds. */
const soon = { reconnectStrategy: 250 };

function quiet(client: Client): Client {
  client.on('error', () => {}); // node-redis would throw them
  onTestFinished(() => {
    if (client.isOpen) client.destroy();
  });
  return client;
}

const clients = [
  {
    name: 'node-redis 6',
    make: (port: number, options = {}) =>
      quiet(createClient({ socket: { port, ...soon }, ...options }) as Client),
  },
  {
    name: 'node-redis 5',
    make: (port: number, options = {}) =>
      quiet(createClient5({ socket: { port, ...soon }, ...options }) as unknown as Client),
  },
] as const;

for (const { name, make } of clients) {
  describe.skipIf(redisProgram === null)(`the Redis store on ${name}`, () => {
    let server: RedisServer | undefined;
    afterEach(async () => {
      await server?.kill();
      server = undefined;
    });

    /** A client that is still connecting. */
    function connect(port: number, options = {}): Client {
      const client = make(port, options);
      client.connect().catch(() => {}); // the test destroys it before it has connected
      return client;
    }

    it('waits for a client that connects, and leaves no listener', async () => {
      server = await startServer();
      const client = connect(server.port);
      const events = ['ready', 'reconnecting', 'end'];
      const before = events.map((event) => client.listenerCount(event));
      const store = redisStore(client);
      expect(client.isReady).toBe(false);
      await Promise.all([1, 2, 3, 4].map((i) => store.apply([take(`${i}`)])));
      expect(events.map((event) => client.listenerCount(event))).toEqual(before);
    });

    it('does not wait beyond the deadline, and never sends what waited', async () => {
      server = await startServer();
      const store = redisStore(connect(await slowProxy(server.port, 150)));
      const { result, tookMs } = await ask(store);
      expect(result).toBe('SPW_STORE_TIMEOUT');
      expect(tookMs).toBeLessThan(150);
      await store.apply([take('bob')]);
      expect(await connect(server.port).keys('*')).toEqual([nameOf('bob')]);
    });

    it('fails at once on a client that was never opened, and leaves it so', async () => {
      server = await startServer();
      const client = make(server.port);
      const store = redisStore(client);
      await expect(store.apply([take('ada')])).rejects.toMatchObject({
        code: 'SPW_STORE_UNAVAILABLE',
        message: expect.stringContaining('closed'),
      });
      expect(client.isOpen).toBe(false);
      await client.connect();
      expect((await store.apply([take('ada')]))[0]?.allowed).toBe(true);
      client.destroy();
      expect((await ask(store)).result).toBe('SPW_STORE_UNAVAILABLE');
      expect(client.isOpen).toBe(false);
    });

    it('fails fast while Redis is down from the start, and works within a second of its coming', async () => {
      const port = await freePort();
      const store = redisStore(connect(port));
      const fromMs = Date.now();
      while (Date.now() < fromMs + 1500) {
        const isLate = Date.now() > fromMs + 1000;
        const { result, tookMs } = await ask(store);
        expect(result).toMatch(/^SPW_STORE_(UNAVAILABLE|TIMEOUT)$/);
        expect(tookMs).toBeLessThan(200);
        if (isLate) expect(result).toBe('SPW_STORE_UNAVAILABLE');
        await delay(20);
      }
      server = await startServer(port);
      expect(await untilDecided(store)).toBeLessThan(1000);
    });

    it('works within a second of the return of a Redis that was killed, and sends nothing from in between', async () => {
      server = await startServer();
      const { port } = server;
      const client = connect(port);
      const store = redisStore(client);
      await store.apply([take('ada')]);
      await server.kill();
      const untilMs = Date.now() + 2500;
      let asked = 0;
      while (Date.now() < untilMs || asked <= 20) {
        expect((await ask(store, 'in between')).result).toMatch(/^SPW_STORE/);
        asked += 1;
        await delay(20);
      }
      server = await startServer(port);
      expect(await untilDecided(store)).toBeLessThan(1000);
      expect(await client.keys('*')).toEqual([nameOf('ada')]);
    });

    it('charges nothing late for what was under way when Redis was killed', async () => {
      server = await startServer();
      const { port } = server;
      const client = connect(port);
      const store = redisStore(client);
      await store.apply([take('bob')]); // now the store knows the difference of the clocks
      await connect(port).sendCommand(['CLIENT', 'PAUSE', '10000']);
      const lost = store.apply([take('eve')], { deadlineUs: systemClock.nowUs() + 50_000 });
      lost.catch(() => {});
      await delay(60);
      await server.kill();
      server = await startServer(port);
      await untilDecided(store);
      await expect(lost).rejects.toMatchObject({ code: 'SPW_STORE_UNAVAILABLE' });
      expect(await client.exists(nameOf('eve'))).toBe(0);
    });

    it('charges nothing for a call that Redis comes to after its deadline', async () => {
      server = await startServer();
      const client = connect(server.port);
      const store = redisStore(client);
      await store.apply([take('bob')]); // now the store knows the difference of the clocks
      await connect(server.port).sendCommand(['CLIENT', 'PAUSE', '200']);
      expect((await ask(store)).result).toBe('SPW_STORE_TIMEOUT');
      expect(await client.exists(nameOf('ada'))).toBe(0);
    });

    it('goes on when Redis has forgotten the script, also in the middle of many calls', async () => {
      server = await startServer();
      const client = connect(server.port);
      const store = redisStore(client, { coalesce: false });
      const asked: Promise<unknown>[] = [];
      for (let i = 0; i < 60; i += 1) {
        asked.push(store.apply([take(`key-${i % 20}`, { cost: i < 20 ? 1 : 2 })]));
        if (i % 20 === 10) asked.push(client.sendCommand(['SCRIPT', 'FLUSH']));
      }
      await Promise.all(asked);
      const looks = Array.from({ length: 20 }, (_, i) => take(`key-${i}`, { op: 'look' }));
      const counts = (await store.apply(looks)).map(
        (answer) => 'current' in answer && answer.current,
      );
      expect(counts).toEqual(Array(20).fill(3));
    });

    it('understands clients that speak RESP2 or RESP3, prefix keys, or ask for other types', async () => {
      server = await startServer();
      const typeMapping = { [RESP_TYPES.NUMBER]: String, [RESP_TYPES.BLOB_STRING]: Buffer };
      for (const options of [
        { RESP: 2 },
        { RESP: 3 },
        { keyPrefix: 'app:' },
        { commandOptions: { typeMapping } },
        { disableOfflineQueue: true },
      ]) {
        const client = connect(server.port, options);
        const store = redisStore(client);
        for (const algorithm of ALGORITHMS) {
          const rule = makeRule(algorithm, 3, 60_000_000);
          const step = take(Object.keys(options)[0] as string, { rule, limiter: algorithm });
          const [answer] = await store.apply([step]);
          expect(answer?.allowed).toBe(true);
          expect(Object.values(answer ?? {}).map((value) => typeof value)).not.toContain('string');
        }
        for (const prefix of ['', 'app:']) {
          await client.sendCommand(['SET', `${prefix}${nameOf('junk')}`, 'x']);
        }
        const [, junk] = await Promise.allSettled(
          ['a', 'junk'].map((key) => store.apply([take(key)])),
        );
        expect(junk).toMatchObject({ reason: { code: 'SPW_STORE_ERROR' } });
      }
    });
  });
}
