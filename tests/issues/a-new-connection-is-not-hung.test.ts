/**
 * A client such as ioredis keeps the call that was sent as the connection died, and sends it again on the next one. After
 * an outage of more than 2 s, the age of that call made the new, healthy connection look dead: the next request failed
 * with the advice to set a socket timeout, or the store ended the new connection.
 */

import { type RedisClient, redisStore } from '@spillway/redis';
import { delay, fakeTime } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';

/** A server that answers after a millisecond, unless it hangs; then the client keeps its calls. */
class Server implements RedisClient {
  readonly state = 'ready';
  readonly cure = 'set a timeout';
  readonly coalesce = false;
  hangs = false;
  reconnected = 0;
  private kept: (() => void)[] = [];

  async evalsha(): Promise<unknown> {
    if (this.hangs) await new Promise<void>((resolve) => this.kept.push(resolve));
    await delay(1);
    return null; // no such value
  }

  eval(): Promise<unknown> {
    return this.evalsha();
  }

  /** The client has reconnected, and sends again what it kept. */
  isBack(): void {
    this.hangs = false;
    for (const send of this.kept) send();
  }

  reconnect(): void {
    this.reconnected += 1;
  }

  onceChanged(): () => void {
    return () => undefined;
  }
}

describe('a connection', () => {
  fakeTime();

  async function kindsOf(reconnect: boolean, isBack: boolean, server = new Server()) {
    const values = redisStore(server, { reconnect }).values;
    const errors: unknown[] = [];
    const ask = async () => {
      Promise.resolve(values.get({ limiter: 'api', key: 'ada', id: 'a' })).catch((e) =>
        errors.push(e),
      );
      await vi.advanceTimersByTimeAsync(10);
    };
    server.hangs = true;
    await ask();
    await vi.advanceTimersByTimeAsync(3_000);
    if (isBack) server.isBack();
    for (let i = 0; i < 50; i += 1) await ask();
    return { kinds: new Set(errors.map((e) => (e as { kind?: string }).kind)), server };
  }

  it.each([true, false])(
    'that follows a dead one is healthy (reconnect: %s)',
    async (reconnect) => {
      const { kinds, server } = await kindsOf(reconnect, true);
      expect(kinds).not.toContain('hung');
      expect(server.reconnected).toBe(0);
    },
  );

  it('that answers nothing is told', async () => {
    expect((await kindsOf(false, false)).kinds).toContain('hung');
  });

  it('that answers nothing is ended once, where that is permitted', async () => {
    expect((await kindsOf(true, false)).server.reconnected).toBe(1);
  });

  it('that answers nothing is ended, also if the client has no advice', async () => {
    const server = Object.defineProperty(new Server(), 'cure', { value: undefined });
    expect((await kindsOf(true, false, server)).server.reconnected).toBe(1);
  });
});
