/** What every script call has in common: it waits for a client, and a server that does not know the script is taught. */

import { systemClock } from '@spillway/core/store';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type RedisClient, redisControl, redisStore } from '../src/index.js';
import { take } from './steps.js';

/** A client whose state the test sets, before a server that admits everything once it knows the script. */
class FakeClient implements RedisClient {
  state = 'connecting';
  isTaught = true;
  coalesce = true;
  /** Keys of each call by its hash, and of each that carried the text. */
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

/** Each key is one of a window of 3 per hour, of which nothing is used. */
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

describe('a server that does not know the script', () => {
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
