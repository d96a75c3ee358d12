import { systemClock } from '@spillway/core/store';
import { expect, it } from 'vitest';
import { type RedisClient, redisStore } from '../src/index.js';
import { take } from './steps.js';

it('forgets the clock of the server before, once another has answered after a reconnection', async () => {
  const told: number[] = [];
  let aheadUs = 3_600_000_000;
  const client = {
    state: 'ready',
    evalsha: (_sha: string, _keys: string[], [deadline]: string[]) => {
      const nowUs = systemClock.nowUs() + aheadUs;
      told.push(Number(deadline) - nowUs);
      return Promise.resolve([nowUs, 3, 0]);
    },
    eval: () => expect.unreachable(),
    onceChanged: () => () => {},
  } satisfies RedisClient;
  const store = redisStore(client);
  const ask = () => store.apply([take('ada')], { deadlineUs: systemClock.nowUs() + 50_000 });

  await ask();
  await ask();
  expect(told[1]).toBeLessThan(50_000);
  expect(told[1]).toBeGreaterThan(0);
  client.state = 'reconnecting';
  await expect(ask()).rejects.toMatchObject({ code: 'SPW_STORE_UNAVAILABLE' });
  aheadUs = 0; // a new master whose clock is an hour behind the old one's
  client.state = 'ready';
  await ask();
  expect(told[2]).toBeGreaterThan(3_000_000_000); // nobody knows yet
  await ask();
  expect(told[3]).toBeLessThan(50_000);
  expect(told[3]).toBeGreaterThan(0);
});
