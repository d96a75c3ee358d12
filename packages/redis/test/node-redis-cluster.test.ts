import { createCluster } from 'redis';
import { createCluster as createCluster5 } from 'redis5';
import { delay } from 'spillway-testkit';
import { freePort, redisProgram, useCluster } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { redisStore } from '../src/index.js';
import { ask, Bridge, untilDecided } from './asking.js';
import { take } from './steps.js';

type Cluster = ReturnType<typeof createCluster>;

const versions = [
  { name: 'node-redis 6', create: createCluster },
  { name: 'node-redis 5', create: createCluster5 as unknown as typeof createCluster },
] as const;

for (const { name, create } of versions) {
  describe.skipIf(redisProgram === null)(`the Redis store on a cluster of ${name}`, () => {
    const { servers, nodes } = useCluster();

    function connect(port: number, options = {}): Cluster {
      const cluster = create({
        rootNodes: [{ socket: { host: '127.0.0.1', port } }],
        defaults: { socket: { reconnectStrategy: 250 } },
        ...options,
      }) as Cluster;
      cluster.on('error', () => {});
      cluster.connect().catch(() => {});
      onTestFinished(() => {
        if (cluster.isOpen) cluster.destroy();
      });
      return cluster;
    }

    it('waits while it connects, then decides all or nothing across slots', async () => {
      const store = redisStore(connect(servers[0]?.port ?? 0));
      const keys = ['ada', 'bob', 'eve', 'joe'];
      const groups = await Promise.all(
        [1, 2].map(() => store.apply(keys.map((key) => take(key, { cost: 2 })))),
      );
      expect(groups.filter((all) => all.every(({ allowed }) => allowed)).length).toBeLessThan(2);
      const looks = await store.apply(keys.map((key) => take(key, { op: 'look' })));
      const counts = looks.map((answer) => 'current' in answer && answer.current);
      expect(new Set(counts).size).toBe(1);
    });

    it('admits exactly the limit of many parallel calls, also when nodes forget the script', async () => {
      const store = redisStore(connect(servers[1]?.port ?? 0), {
        coalesce: false,
      });
      const keys = Array.from({ length: 20 }, (_, i) => `key-${i}`);
      const asked = keys.flatMap((key) => [1, 2, 3, 4].map(() => store.apply([take(key)])));
      for (const node of nodes) asked.push(node.script('FLUSH') as Promise<never>);
      const answers = (await Promise.all(asked)).slice(0, 80);
      expect(answers.filter(([answer]) => answer?.allowed)).toHaveLength(60);
    });

    it('fails fast when no node can be reached, and when it is closed', async () => {
      const store = redisStore(connect(await freePort()));
      const cluster = connect(servers[0]?.port ?? 0);
      const other = redisStore(cluster);
      await other.apply([take('open')]);
      cluster.destroy();
      for (let i = 0; i < 20; i += 1) {
        for (const each of [store, other]) {
          const { result, tookMs } = await ask(each);
          expect(result).toMatch(/^SPW_STORE/);
          expect(tookMs).toBeLessThan(200);
        }
      }
    });

    it('sends nothing to a node that is away, goes on with the others, and with it within a second of its return', async () => {
      const port = servers[2]?.port ?? 0;
      const bridge = await Bridge.to(port);
      const store = redisStore(
        connect(servers[0]?.port ?? 0, {
          nodeAddressMap: { [`127.0.0.1:${port}`]: { host: '127.0.0.1', port: bridge.port } },
        }),
      );
      const keys = Array.from({ length: 12 }, (_, i) => `away-${i}`);
      await store.apply(keys.map((key) => take(key, { op: 'look' })));
      await bridge.cut();
      await delay(100); // long enough for the client to notice
      const results = await Promise.allSettled(keys.map((key) => store.apply([take(key)])));
      const lost = keys.filter((_, i) => results[i]?.status === 'rejected');
      expect(lost.length).toBeGreaterThan(0);
      expect(lost.length).toBeLessThan(keys.length);
      for (const result of results) {
        if (result.status === 'fulfilled') expect(result.value[0]?.allowed).toBe(true);
        else expect(result.reason).toMatchObject({ code: 'SPW_STORE_UNAVAILABLE' });
      }
      await bridge.mend();
      expect(await untilDecided(store, lost[0])).toBeLessThan(1000);
      const looks = await store.apply(lost.slice(1).map((key) => take(key, { op: 'look' })));
      expect(looks.every((answer) => 'current' in answer && answer.current === 0)).toBe(true);
    });
  });
}
