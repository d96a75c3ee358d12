/**
 * Some errors say that nothing was sent, so a settlement is sent again until it counts. Three of them were given to
 * calls that had reached Redis: the advice about a hung connection, the error of a reply that threw while it was read,
 * and that of a client that rejects without an error. A refund could then be applied twice.
 */

import { createGuard, memoryStore, meter, rateLimit, type Step } from '@spillway/core';
import { makeRule, remoteStore, systemClock } from '@spillway/core/store';
import { type RedisClient, redisStore } from '@spillway/redis';
import { fakeTime, request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';

const rule = makeRule('fixed-window', 3, 60_000_000);

function take(key: string): Step {
  return { op: 'take', limiter: 'api', key, rule, cost: 1, binding: true };
}

class Client implements RedisClient {
  readonly state = 'ready';
  readonly cure = 'set a timeout';
  readonly coalesce = false;
  readonly sent: string[] = [];
  reply: Promise<unknown> = new Promise(() => undefined);

  evalsha(_sha: string, [key]: string[]): Promise<unknown> {
    this.sent.push(key as string);
    return this.reply;
  }

  eval(): Promise<unknown> {
    return this.reply;
  }

  onceChanged(): () => void {
    return () => undefined;
  }
}

describe('a call', () => {
  fakeTime();

  it('that fails with advice about a hung connection was not sent', async () => {
    const client = new Client();
    const store = redisStore(client);
    const failed: [key: string, kind: string][] = [];
    for (let i = 0; i < 40; i += 1) {
      store.apply([take(`caller-${i}`)]).catch(({ kind }) => failed.push([`caller-${i}`, kind]));
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(failed).toEqual([[expect.any(String), 'hung']]);
    expect(client.sent).toHaveLength(39);
    expect(client.sent.some((key) => key.includes(`{${failed[0]?.[0]}}`))).toBe(false);
  });

  it('is sent on a connection that has replied since it was found hung', async () => {
    const client = new Client();
    const replies: ((reply: unknown) => void)[] = [];
    client.evalsha = () => new Promise((reply) => replies.push(reply));
    const store = redisStore(client);
    const kinds: unknown[] = [];
    const ask = () => void store.apply([take('ada')]).catch(({ kind }) => kinds.push(kind));
    ask();
    await vi.advanceTimersByTimeAsync(2_100);
    ask();
    await vi.advanceTimersByTimeAsync(500);
    for (const reply of replies) reply(null);
    await vi.advanceTimersByTimeAsync(1);
    ask();
    await vi.advanceTimersByTimeAsync(1);
    expect(replies).toHaveLength(3);
    expect(kinds).not.toContain('hung');
  });

  it('is sent on the connection that replaced a hung one', async () => {
    const client = new Client();
    const losses: ((reason: Error) => void)[] = [];
    client.evalsha = () => new Promise((_, lose) => losses.push(lose));
    const store = redisStore(client);
    const kinds: unknown[] = [];
    const ask = () => void store.apply([take('ada')]).catch(({ kind }) => kinds.push(kind));
    ask();
    await vi.advanceTimersByTimeAsync(2_100);
    ask();
    await vi.advanceTimersByTimeAsync(500);
    for (const lose of losses) lose(new Error('Socket closed unexpectedly'));
    await vi.advanceTimersByTimeAsync(1);
    ask();
    await vi.advanceTimersByTimeAsync(1);
    expect(kinds).toEqual(['connection', 'connection']);
    expect(losses).toHaveLength(3);
  });

  it('whose client rejects without an error may have been charged', async () => {
    const client = new Client();
    client.evalsha = () => Promise.reject();
    const [memory, redis] = [memoryStore({ clock: systemClock }), redisStore(client)];
    const ops: string[] = [];
    const store = remoteStore({
      sync: false,
      async apply(steps: readonly Step[]) {
        const answers = memory.apply(steps);
        ops.push(...steps.map(({ op }) => op));
        return ops.at(-1) === 'put' ? redis.apply(steps) : answers;
      },
    });
    const usage = meter({ reserve: () => 40 });
    const cost = usage.cost((units) => units);
    const limit = rateLimit({ name: 'rows', limit: 1_000, window: '1d', key: () => 'ada', cost });
    const guard = createGuard(limit, { store, logger: false });
    const admission = await guard.admit(request());
    usage.of(admission).settle(10);
    await admission.release({ status: 200 });
    await vi.advanceTimersByTimeAsync(9_000);
    expect(ops.filter((op) => op === 'put')).toHaveLength(1);
  });

  it.each(['throws', 'rejects'])(
    'that stays unanswered ends its connection; a reconnect that %s crashes nothing',
    async (how) => {
      const client = Object.assign(new Client(), {
        reconnect: () => {
          client.sent.push('reconnect');
          const error = new Error('broken');
          if (how === 'throws') throw error;
          return Promise.reject(error) as never;
        },
      });
      const store = redisStore(client, { reconnect: true });
      for (const _ of [1, 2]) {
        store.apply([take('ada')]).catch(() => undefined);
        await vi.advanceTimersByTimeAsync(2_100);
      }
      expect(client.sent).toContain('reconnect');
    },
  );

  it('whose reply cannot be read may have been charged', async () => {
    const client = new Client();
    const cause = new TypeError('revoked');
    const reply = Object.defineProperty([1, 2, 3], 1, {
      get: () => {
        throw cause;
      },
    });
    client.reply = Promise.resolve(reply);
    const error = { code: 'SPW_STORE_ERROR', kind: 'reply', cause };
    await expect(redisStore(client).apply([take('ada')])).rejects.toMatchObject(error);
  });
});
