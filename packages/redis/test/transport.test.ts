/** All script calls wait until the client is ready, and send the script to a server that does not know it. */

import { createHash } from 'node:crypto';
import { systemClock } from '@spillway/core/store';
import { delay, fakeTime } from 'spillway-testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { hashSlotOf } from '../src/hash-slot.js';
import { type AnyRedisClient, type RedisClient, redisControl, redisStore } from '../src/index.js';
import { take } from './steps.js';

/** A client whose state the test sets, and a server that admits everything once it knows the script. */
class FakeClient implements RedisClient {
  state = 'connecting';
  isTaught = true;
  coalesce = true;
  /** The keys of each call by the script's hash; `texts`: of each call that sent its text. */
  readonly hashes: string[][] = [];
  readonly texts: string[][] = [];
  readonly listeners = new Set<() => void>();

  async evalsha(_sha: string, keys: string[]): Promise<unknown> {
    this.hashes.push(keys);
    if (!this.isTaught) throw new Error('NOSCRIPT No matching script.');
    return replyTo(keys);
  }

  async eval(_text: string, keys: string[]): Promise<unknown> {
    this.texts.push(keys);
    await Promise.resolve();
    this.isTaught = true;
    return replyTo(keys);
  }

  onceChanged(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  become(state: string): void {
    this.state = state;
    const all = [...this.listeners];
    this.listeners.clear();
    for (const listener of all) listener();
  }
}

/** Each key has a window of 3 per hour, of which nothing is used. */
function replyTo(keys: readonly string[]): unknown[] {
  return [systemClock.nowUs(), ...keys.flatMap(() => [3, 0])];
}

const keysOf = (count: number) => Array.from({ length: count }, (_, i) => `key-${i}`);

describe('a client that connects', () => {
  it('is sent what waited for it in one call, not in a call for each', async () => {
    const client = new FakeClient();
    const store = redisStore(client);
    const asked = keysOf(50).map((key) => store.apply([take(key)]));
    await new Promise(setImmediate);
    expect(client.hashes).toEqual([]);
    expect(client.listeners.size).toBe(1);
    client.become('ready');
    await Promise.all(asked);
    expect(client.hashes.map((keys) => keys.length)).toEqual([50]);
    expect(client.listeners.size).toBe(0);
  });

  it('is not sent what came too late, and is sent the rest of the same turn', async () => {
    const client = new FakeClient();
    const store = redisStore(client);
    const deadlineUs = systemClock.nowUs() + 2_000;
    const late = store.apply([take('late')], { deadlineUs });
    const rest = store.apply([take('rest')]);
    await expect(late).rejects.toMatchObject({ code: 'SPW_STORE_TIMEOUT' });
    client.become('ready');
    await rest;
    expect(client.hashes).toEqual([[expect.stringContaining('{rest}')]]);
  });

  it('and gives up fails at once all that waited for it', async () => {
    const client = new FakeClient();
    const store = redisStore(client);
    const asked = Promise.allSettled(keysOf(3).map((key) => store.apply([take(key)])));
    await new Promise(setImmediate);
    client.become('end');
    for (const result of await asked) {
      expect(result).toMatchObject({ reason: { code: 'SPW_STORE_UNAVAILABLE' } });
    }
    expect(client.hashes).toEqual([]);
  });

  it('is waited for again if it goes away before what waited was sent', async () => {
    const client = new FakeClient();
    const store = redisStore(client);
    const asked = store.apply([take('ada')]);
    await new Promise(setImmediate);
    client.become('ready');
    client.state = 'connecting';
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(client.hashes).toEqual([]);
    client.become('ready');
    expect(await asked).toMatchObject([{ allowed: true }]);
  });

  it('is looked at no more often because a call came too late', async () => {
    const client = new FakeClient();
    const store = redisStore(client);
    const rest = store.apply([take('rest')]);
    const late = store.apply([take('late')], { deadlineUs: systemClock.nowUs() + 2_000 });
    await expect(late).rejects.toMatchObject({ code: 'SPW_STORE_TIMEOUT' });
    const listens = vi.spyOn(client, 'onceChanged');
    for (let turn = 0; turn < 10; turn += 1) await delay(3);
    expect(listens.mock.calls.length).toBeLessThan(3);
    client.become('ready');
    await rest;
  });

  it('is not asked for the codes of a limiter when the time of a reset is over', async () => {
    const client = Object.assign(new FakeClient(), { state: 'ready' });
    const store = redisStore(client, { logger: false });
    const deadlineUs = systemClock.nowUs() - 1;
    const reset = store.apply([take('ada', { op: 'reset' })], { deadlineUs });
    await expect(reset).rejects.toMatchObject({ code: 'SPW_STORE_TIMEOUT' });
    expect(client.hashes).toEqual([]);
  });

  it('is waited for by a control too, which then sends at once', async () => {
    const client = new FakeClient();
    const control = redisControl(client);
    onTestFinished(() => control.close());
    const history = control.history();
    await new Promise(setImmediate);
    expect(client.hashes).toEqual([]);
    client.become('ready');
    await history;
    expect(client.hashes).toEqual([['spw:{%control}history']]);
  });
});

describe('a client that does not report a change', () => {
  fakeTime();

  it('is looked at once a second while calls wait', async () => {
    const client = new FakeClient();
    const asked = redisStore(client).apply([take('ada')]);
    await vi.advanceTimersByTimeAsync(10);
    client.state = 'ready';
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await asked).toMatchObject([{ allowed: true }]);
  });

  it('fails each call at its own deadline, whatever others wait for', async () => {
    const store = redisStore(new FakeClient());
    void store.apply([take('ada')]);
    const ended: number[] = [];
    for (const ms of [300, 30, 200, 100]) {
      const deadlineUs = systemClock.nowUs() + ms * 1_000;
      store.apply([take('eve')], { deadlineUs }).catch(() => ended.push(ms));
    }
    await vi.advanceTimersByTimeAsync(29);
    expect(ended).toEqual([]);
    await vi.advanceTimersByTimeAsync(2);
    expect(ended).toEqual([30]);
    await vi.advanceTimersByTimeAsync(70);
    expect(ended).toEqual([30, 100]);
    await vi.advanceTimersByTimeAsync(200);
    expect(ended).toEqual([30, 100, 200, 300]);
  });
});

describe('many stores and controls on one client', () => {
  it('listen to it once', async () => {
    const client = new FakeClient();
    const asked = keysOf(20).map((key) => redisStore(client).apply([take(key)]));
    const control = redisControl(client);
    onTestFinished(() => control.close());
    asked.push(control.history() as Promise<never>);
    await new Promise(setImmediate);
    expect(client.listeners.size).toBe(1);
    client.become('ready');
    await Promise.all(asked);
  });

  it('hurry a client of ioredis as often as one does', async () => {
    let connects = 0;
    const client = {
      status: 'reconnecting',
      reconnectTimeout: 1 as unknown,
      evalsha: () => undefined,
      call: () => Promise.reject(new Error('not ready')),
      connect: async () => {
        connects += 1;
        client.reconnectTimeout = 1; // refused at once
      },
      once: () => undefined,
      removeListener: () => undefined,
    };
    const stores = keysOf(20).map(() => redisStore(client as AnyRedisClient));
    await Promise.allSettled(stores.map((store) => store.apply([take('ada')])));
    expect(connects).toBe(1);
  });
});

describe('a client that throws', () => {
  const failure = () => {
    throw new Error('broken');
  };

  it.each([
    ['when it is hurried', { hurry: failure }],
    ['when it is listened to', { onceChanged: failure }],
    ['when it is listened to no more', { onceChanged: () => failure }],
  ])('%s fails what waits for it, and not the process', async (_, parts) => {
    for (const coalesce of [true, false]) {
      const client = Object.assign(new FakeClient(), parts);
      const store = redisStore(client, { coalesce });
      const deadlineUs = systemClock.nowUs() + 500_000;
      const control = redisControl(client);
      onTestFinished(() => control.close());
      // The last call has the earliest deadline, so it makes the queue listen again.
      const asked = [control.history(), store.apply([take('ada')])];
      asked.push(store.apply([take('eve')], { deadlineUs }));
      const results = await Promise.allSettled(asked as Promise<unknown>[]);
      for (const result of results) {
        expect(result).toMatchObject({ reason: { code: 'SPW_STORE_ERROR', kind: 'unsent' } });
      }
    }
  });

  it('when its state is read fails the calls that read it, and not the process', async () => {
    for (const coalesce of [true, false]) {
      const client = new FakeClient();
      const store = redisStore(client, { coalesce });
      const waiting = store.apply([take('ada')]);
      await delay(1);
      Object.defineProperty(client, 'state', { get: failure });
      for (const listener of [...client.listeners]) listener();
      const results = await Promise.allSettled([
        waiting,
        store.apply([take('eve')]),
        store.apply([take('bob')]),
        redisStore(client).values.get({ limiter: 'api', key: 'ada', id: 'a' }),
      ]);
      for (const result of results) {
        expect(result).toMatchObject({ reason: { code: 'SPW_STORE_ERROR', kind: 'unsent' } });
      }
    }
  });

  it('later, when it is hurried, fails only what waits for it', async () => {
    const client = Object.assign(new FakeClient(), { hurry: async () => failure() });
    const asked = redisStore(client).apply([take('ada')]);
    await delay(1);
    client.become('ready');
    await asked;
  });
});

describe('a server that does not know the script', () => {
  /** Forgets scripts as real servers do; each node knows its own. */
  class Nodes extends FakeClient {
    override state = 'ready';
    readonly isCluster = true;
    readonly known = new Set<string>();
    readonly taught: string[] = [];
    readonly nodeOf = (slot: number) => (slot % 2 === 0 ? 'even' : 'odd');

    override async evalsha(sha: string, keys: string[]): Promise<unknown> {
      if (!this.known.has(this.nameOf(sha, keys))) throw new Error('NOSCRIPT No matching script.');
      return replyTo(keys);
    }

    override async eval(text: string, keys: string[]): Promise<unknown> {
      const name = this.nameOf(createHash('sha1').update(text).digest('hex'), keys);
      this.taught.push(name);
      await Promise.resolve();
      this.known.add(name);
      return replyTo(keys);
    }

    private nameOf(sha: string, [key = '']: string[]): string {
      return `${sha} ${this.nodeOf(hashSlotOf(key))}`;
    }
  }

  it('gets its text once a node and a script, and again each time that it has forgotten it', async () => {
    const client = new Nodes();
    const store = redisStore(client, { coalesce: false, logger: false });
    for (let time = 1; time <= 3; time += 1) {
      client.known.clear();
      client.taught.length = 0;
      const takes = keysOf(40).map((key) => store.apply([take(key)]));
      const resets = keysOf(20).map((key) =>
        store.apply([take(`to reset ${key}`, { op: 'reset' })]),
      );
      await Promise.all([...takes, ...resets]);
      // The script of the counts on two nodes, and the one that reads the codes of limiters on one.
      expect(client.taught.toSorted()).toEqual([...client.known].sort());
      expect(client.taught).toHaveLength(3);
    }
  });

  it('is not sent the text if its node of a cluster of node-redis is away by then', async () => {
    const texts: string[] = [];
    const client = { isReady: true };
    const calls = {
      evalSha: async () => {
        client.isReady = false;
        throw new Error('NOSCRIPT No matching script.');
      },
      eval: async (text: string) => texts.push(text),
    };
    const cluster = {
      isOpen: true,
      isReady: true,
      masters: [{}],
      slots: new Array(16_384).fill({ master: { client } }),
      withTypeMapping: () => calls,
      once: () => undefined,
      removeListener: () => undefined,
    };
    const asked = redisStore(cluster).apply([take('ada')]);
    await expect(asked).rejects.toMatchObject({ code: 'SPW_STORE_UNAVAILABLE' });
    expect(texts).toEqual([]);
  });

  it('is not sent the text if the connection is lost meanwhile', async () => {
    const client = Object.assign(new FakeClient(), { state: 'ready' });
    client.evalsha = async () => {
      client.state = 'reconnecting';
      throw new Error('NOSCRIPT No matching script.');
    };
    const asked = redisStore(client).apply([take('ada')]);
    await expect(asked).rejects.toMatchObject({ code: 'SPW_STORE_UNAVAILABLE' });
    expect(client.texts).toEqual([]);
  });

  async function ask(client: FakeClient) {
    Object.assign(client, { state: 'ready', isTaught: false });
    const store = redisStore(client, { coalesce: false });
    await Promise.all(keysOf(20).map((key) => store.apply([take(key)])));
    return client;
  }

  it('gets its text once, however many calls meet that', async () => {
    expect((await ask(new FakeClient())).texts).toHaveLength(1);
  });

  it('gets it from each call where requests must not wait for one another', async () => {
    const client = await ask(Object.assign(new FakeClient(), { coalesce: false }));
    expect(client.texts).toHaveLength(20);
    expect(client.hashes).toHaveLength(20);
  });

  it('is sent nothing more once the connection is lost', async () => {
    const client = Object.assign(new FakeClient(), { state: 'ready', isTaught: false });
    client.eval = async (_text, keys) => {
      client.texts.push(keys);
      client.state = 'reconnecting';
      throw new Error('Connection is closed.');
    };
    const store = redisStore(client, { coalesce: false });
    const results = await Promise.allSettled(keysOf(5).map((key) => store.apply([take(key)])));
    for (const result of results) {
      expect(result).toMatchObject({ reason: { code: 'SPW_STORE_UNAVAILABLE' } });
    }
    expect(client.texts).toHaveLength(1);
    expect(client.hashes).toHaveLength(5);
  });
});
