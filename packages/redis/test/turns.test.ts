/** When decisions are sent, and which of them share a call. */

import { describe, expect, it } from 'vitest';
import { type RedisClient, redisStore } from '../src/index.js';
import { take } from './steps.js';

/** A client that is ready; the test answers its calls. */
class Waiting implements RedisClient {
  readonly state = 'ready';
  /** The keys of each call. */
  readonly calls: string[][] = [];
  private readonly open: { answer: () => void; lose: () => void }[] = [];

  private bad: (() => unknown) | undefined;

  /** From now on calls return what `bad` returns. */
  spoil(bad: (() => unknown) | undefined): void {
    this.bad = bad;
  }

  evalsha(_sha: string, keys: string[]): Promise<unknown> {
    if (this.bad) return this.bad() as Promise<unknown>;
    this.calls.push(keys.map((key) => /{(.*?)}/.exec(key)?.[1] ?? key));
    return new Promise((resolve, reject) => {
      const answer = () => resolve([1_000_000, ...keys.flatMap(() => [3, 0])]);
      this.open.push({ answer, lose: () => reject(new Error('Connection is closed.')) });
    });
  }

  eval(): Promise<unknown> {
    return expect.unreachable();
  }

  /** Answers all calls; returns when everything that waited has run. */
  async answer(): Promise<void> {
    for (const { answer } of this.open.splice(0)) answer();
    await turn();
  }

  async lose(): Promise<void> {
    for (const { lose } of this.open.splice(0)) lose();
    await turn();
  }

  onceChanged = () => () => undefined;
}

const turn = () => new Promise(setImmediate);

function open() {
  const client = new Waiting();
  const store = redisStore(client);
  const asked: Promise<unknown>[] = [];
  const ask = (...keys: string[]) => {
    for (const key of keys) asked.push(store.apply([take(key)]).catch(({ code }) => code));
  };
  return { client, ask, asked };
}

describe('a decision', () => {
  it('is sent before the turn ends if no call is on its way, with all that is asked beside it', async () => {
    const { client, ask } = open();
    ask('ada', 'bob');
    queueMicrotask(() => ask('eve'));
    expect(client.calls).toEqual([]);
    for (let task = 0; task < 3; task += 1) await Promise.resolve();
    expect(client.calls).toEqual([['ada', 'bob']]);
    await turn();
    expect(client.calls).toEqual([['ada', 'bob'], ['eve']]);
  });

  it('waits for the end of the turn while a call is on its way, and shares one with the others', async () => {
    const { client, ask } = open();
    ask('ada');
    await turn();
    ask('bob');
    await Promise.resolve().then(() => ask('eve'));
    for (let task = 0; task < 10; task += 1) await Promise.resolve();
    expect(client.calls).toEqual([['ada']]);
    await turn();
    expect(client.calls).toEqual([['ada'], ['bob', 'eve']]);
  });

  it.each(['answer', 'lose'] as const)(
    'waits no longer after an %s of the last call',
    async (end) => {
      const { client, ask, asked } = open();
      ask('ada');
      await turn();
      ask('bob');
      await turn();
      await client[end]();
      ask('eve');
      for (let task = 0; task < 3; task += 1) await Promise.resolve();
      expect(client.calls).toEqual([['ada'], ['bob'], ['eve']]);
      await client.answer();
      expect(await Promise.all(asked)).toHaveLength(3);
    },
  );

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('Connection is closed.');
      },
    ],
    ['returns no promise', () => undefined],
  ])('waits no longer after a client that %s', async (_, bad) => {
    const { client, ask, asked } = open();
    client.spoil(bad);
    ask('ada');
    await turn();
    expect(await asked[0]).toBe('SPW_STORE_ERROR');
    client.spoil(undefined);
    ask('eve');
    for (let task = 0; task < 3; task += 1) await Promise.resolve();
    expect(client.calls).toEqual([['eve']]);
    await client.answer();
    expect(await asked[1]).toMatchObject([{ allowed: true }]);
  });

  it('shares a call with those that the same reply has let be asked', async () => {
    const { client, ask, asked } = open();
    const keys = Array.from({ length: 100 }, (_, i) => `key ${i}`);
    ask(...keys);
    await turn();
    // Like loops that ask again after each answer, each a few promises later.
    for (const [i, one] of [...asked].entries()) {
      void one.then(() => undefined).then(() => ask(`again ${i}`));
    }
    await client.answer();
    expect(client.calls.map(({ length }) => length)).toEqual([100, 100]);
  });

  it.each([true, false])(
    'of several slots goes together with the others of its turn (%s)',
    async (knows) => {
      const client = Object.assign(new Waiting(), { isCluster: true });
      const together: string[][][] = [];
      const write = (send: () => void) => {
        const before = client.calls.length;
        send();
        together.push(client.calls.slice(before));
      };
      const store = redisStore(knows ? Object.assign(client, { together: write }) : client);
      const keys = ['ada', 'bob', 'eve'];
      const asked = [...keys, ...keys].map((key) => store.apply([take(key)]));
      await turn();
      const calls = keys.map((key) => [key, key]);
      expect(client.calls).toEqual(calls);
      expect(together).toEqual(knows ? [calls] : []);
      // A single call needs nothing to be held back.
      asked.push(store.apply([take('ada')]));
      await turn();
      await client.answer();
      expect(await Promise.all(asked)).toHaveLength(7);
      expect(together).toHaveLength(knows ? 1 : 0);
    },
  );

  it.each<[string, (send: () => void) => void]>([
    [
      'throws before',
      () => {
        throw new Error('no sockets');
      },
    ],
    [
      'throws after',
      (send) => {
        send();
        throw new Error('no sockets');
      },
    ],
    [
      'promises to, and fails to,',
      async () => {
        throw new Error('no sockets');
      },
    ],
    ['forgets to', () => {}],
    ['waits before', (send) => queueMicrotask(send)],
    [
      'twice does',
      (send) => {
        send();
        send();
      },
    ],
  ])('of several slots is sent once by a client that %s call `send`', async (_, together) => {
    const client = Object.assign(new Waiting(), { isCluster: true, together });
    const store = redisStore(client);
    const asked = ['ada', 'bob'].map((key) => store.apply([take(key)]));
    await turn();
    expect(client.calls).toEqual([['ada'], ['bob']]);
    await client.answer();
    expect(await Promise.all(asked)).toHaveLength(2);
  });
});
