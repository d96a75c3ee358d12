/** With `stringNumbers`, ioredis returns numbers as text. A report that Redis had refused counted as stored: `'0'`. */

import { type RedisClient, redisReports } from '@spillway/redis';
import { expect, it } from 'vitest';

it.each([0, '0', 0n])('a report that Redis did not store, %o, is an error', async (reply) => {
  const client: RedisClient = {
    state: 'ready',
    evalsha: async () => reply,
    eval: async () => reply,
    onceChanged: () => () => undefined,
  };
  await expect(redisReports(client).publish([])).rejects.toMatchObject({ code: 'SPW_STORE_ERROR' });
});

it.each([1, '1', 1n])('a report that Redis stored, %o, is none', async (reply) => {
  const client: RedisClient = {
    state: 'ready',
    evalsha: async () => reply,
    eval: async () => reply,
    onceChanged: () => () => undefined,
  };
  await redisReports(client).publish([]);
});
