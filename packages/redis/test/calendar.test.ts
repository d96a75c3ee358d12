/** Calendar limits on Redis: its clock decides, whatever the clocks of the processes show. */

import {
  type BillingPeriod,
  calendar,
  createLimiter,
  type Fault,
  fixedWindow,
  memoryStore,
  slidingWindow,
  tokenBucket,
} from '@spillway/core';
import { systemClock } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { Redis } from 'ioredis';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { redisStore } from '../src/index.js';
import { redisStoreAt } from '../src/testing.js';

const HOUR_US = 3_600_000_000;
const NAME = 'spw:1{ada}daily}k';

describe.skipIf(redisProgram === null)('a limit by calendar on Redis', () => {
  let server: RedisServer;
  let client: Redis;
  let faults: Fault[];

  beforeAll(async () => {
    server = await startServer();
    client = new Redis(server.port);
  });
  afterAll(async () => {
    client.disconnect();
    await server.kill();
  });
  beforeEach(async () => {
    await client.flushall();
    faults = [];
  });
  afterEach(() => vi.restoreAllMocks());

  /** A separate process: what it has learned of Redis's clock is in its store. */
  function process(window = calendar('day')) {
    const store = redisStore(client);
    const onFault = (fault: Fault) => faults.push(fault);
    const settings = { store, storeTimeout: '20s', onFault } as const;
    return createLimiter({ name: 'daily', limit: 20, window }, settings);
  }

  function setAhead(us: number): void {
    const nowUs = systemClock.nowUs.bind(systemClock);
    vi.spyOn(systemClock, 'nowUs').mockImplementation(() => nowUs() + us);
  }

  /** Returns a function that counts the calls of Redis for this key from now on. */
  function countingCalls(): () => number {
    const send = vi.spyOn(client, 'sendCommand');
    return () => send.mock.calls.filter(([{ args }]) => args.flat().includes(NAME)).length;
  }

  it.each([-26, 26, -50, 50, 24 * 365])(
    'counts one day for a process whose clock is %s hours ahead, which asks once more at most',
    async (hours) => {
      const right = process();
      expect((await right.consume('ada')).remaining).toBe(19);
      setAhead(hours * HOUR_US);
      const wrong = process();
      const calls = countingCalls();
      const first = await wrong.consume('ada');
      expect(first).toMatchObject({ allowed: true, outcome: 'allowed', remaining: 18 });
      // One call suffices if the day by Redis's clock is the day after this process's.
      const needed = calls();
      expect(needed).toBeLessThanOrEqual(2);
      expect((await wrong.consume('ada')).remaining).toBe(17);
      expect(calls()).toBe(needed + 1);
      const { resetMs } = await wrong.peek('ada');
      vi.restoreAllMocks();
      expect(await right.consume('ada')).toMatchObject({ remaining: 16 });
      expect(resetMs - (await right.peek('ada')).resetMs).toBeGreaterThanOrEqual(0);
      expect(await wrong.refund(first)).toBe(true);
      expect(faults).toEqual([]);
    },
  );

  it('keeps a text that begins with the period, and expires with it', async () => {
    const limiter = process(calendar('month', { timeZone: 'Europe/Berlin' }));
    const { resetMs } = await limiter.consume('ada', { cost: 3 });
    const text = await client.get(NAME);
    expect(text).toMatch(/^\d{4}-\d\d@Europe\/Berlin \d{10}000000 \d{10}000000 3$/);
    const leftMs = await client.pttl(NAME);
    expect(leftMs).toBeGreaterThan(resetMs - 10_000);
    expect(leftMs).toBeLessThan(resetMs + 10);
    expect(await client.memory('USAGE', NAME)).toBeLessThanOrEqual(200);
  });

  it.each(['calendar', 'fixed', 'sliding', 'bucket'] as const)(
    'counts beyond the limit as the memory does (%s)',
    async (of) => {
      const clock = new ManualClock(Date.UTC(2026, 10, 15) * 1000);
      const window = of === 'calendar' ? calendar('day') : '1d';
      const algorithm = { fixed: fixedWindow, sliding: slidingWindow, bucket: tokenBucket }[
        of as 'fixed'
      ];
      const options = { name: 'daily', limit: 7, window, algorithm, overage: 'allow' } as const;
      const store = redisStoreAt(client, clock);
      const far = createLimiter(options, { store, clock, storeTimeout: '20s' });
      const near = createLimiter(options, { store: memoryStore({ clock }) });
      for (const cost of [5, 3, 0, 1_000_000_000, 4, 2_000_000_000, 2 ** 32, 1]) {
        const expected = near.consume('ada', { cost });
        expect({ ...(await far.consume('ada', { cost })) }).toEqual({ ...expected });
        expect(await far.peek('ada')).toEqual(near.peek('ada'));
        clock.advance('5h');
      }
    },
  );

  it('keeps the id of a billing period as a text of its own', async () => {
    const limiter = process(calendar(() => period));
    const now = Date.now();
    const period = { id: 'in 5 {x}', start: now - 1_000_000, end: now + 1_000_000_000 };
    await limiter.consume('ada', { period });
    expect(await client.get(NAME)).toMatch(/^in 5 %007bx%007d \d+ \d+ 1$/);
    expect((await limiter.consume('ada', { period })).remaining).toBe(18);
  });

  it('begins with the next billing period at its start, not before it', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 31) * 1000);
    const window = calendar(() => january);
    const store = redisStoreAt(client, clock);
    const options = { name: 'paid', limit: 10, window } as const;
    const limiter = createLimiter(options, { store, clock, storeTimeout: '20s' });
    const january = { id: 'jan', start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 1, 1) };
    const february = { id: 'feb', start: Date.UTC(2026, 1, 1), end: Date.UTC(2026, 2, 1) };
    const used = async (period: BillingPeriod, cost = 1) =>
      (await limiter.consume('ada', { period, cost })).used;
    expect([await used(january, 9), await used(february)]).toEqual([9, 10]);
    expect([await used(february), await used(january)]).toEqual([10, 10]);
    await limiter.reset('ada');
    expect([await used(february, 4), await used(january, 3), await used(february)]).toEqual([
      4, 7, 8,
    ]);
    clock.advance('1d');
    expect([await used(february), await used(january)]).toEqual([1, 2]);
  });

  it('refuses a text that is of another format, until a reset', async () => {
    const limiter = process();
    await client.set(NAME, '2026-11 x 1 2');
    expect((await limiter.consume('ada')).outcome).toBe('error');
    await limiter.reset('ada');
    expect((await limiter.consume('ada')).outcome).toBe('allowed');
  });
});
