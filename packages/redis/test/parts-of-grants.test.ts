/** Parts of grants that are given back: how they are decided and stored in Redis. */

import type { Step } from '@spillway/core';
import { makeRule, measure, receiptFrom } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { Redis } from 'ioredis';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { redisStoreAt } from '../src/testing.js';
import { take } from './steps.js';

describe.skipIf(redisProgram === null)('in Redis', () => {
  let server: RedisServer;
  let client: Redis;

  beforeAll(async () => {
    server = await startServer();
    client = new Redis(server.port);
  });
  afterAll(async () => {
    client.disconnect();
    await server.kill();
  });
  beforeEach(() => client.flushall());

  it('a part of a grant leaves the rest of its entry in a log, in each chunk', async () => {
    const clock = new ManualClock();
    const at = redisStoreAt(client, clock);
    const rule = makeRule('sliding-window-log', 10_000, 60_000_000);
    const step = (other: Partial<Step>) => take('ada', { rule, ...other });
    const grants: { cost: number; atUs: number }[] = [];
    let used = 0;
    for (let i = 0; i < 300; i += 1) {
      clock.advance(1);
      const cost = 2 + (i % 3);
      const [answer] = await at.apply([step({ cost })]);
      const { atUs } = receiptFrom(rule, answer ?? expect.unreachable(), cost);
      grants.push({ cost, atUs });
      used += cost;
    }
    // Of the first chunk, a middle one, the last and the tail: give back one unit, then the rest, then nothing.
    for (const i of [0, 1, 70, 150, 151, 254, 255, 298, 299]) {
      const { cost, atUs } = grants[i] ?? expect.unreachable();
      const receipt = { atUs, num: 0, units: cost };
      for (const [asked, given] of [
        [1, 1],
        [9, cost - 1],
        [9, 0],
      ] as const) {
        const [answer] = await at.apply([step({ op: 'put', cost: asked, receipt })]);
        used -= given;
        expect(answer, `entry ${i}, ${asked}`).toMatchObject({ allowed: given > 0, used });
      }
    }
    const [look] = await at.apply([step({ op: 'look', cost: 10_000 - used + 1 })]);
    expect(measure(rule, look ?? expect.unreachable(), 1).remaining).toBe(10_000 - used);
  });

  it('a part of one of two grants of an instant leaves the other', async () => {
    const at = redisStoreAt(client, new ManualClock());
    const rule = makeRule('sliding-window-log', 10, 60_000_000);
    const [first] = await at.apply([take('ada', { rule, cost: 3 })]);
    await at.apply([take('ada', { rule, cost: 4 })]);
    const receipt = receiptFrom(rule, first ?? expect.unreachable(), 3);
    const [after] = await at.apply([take('ada', { rule, op: 'put', cost: 9, receipt })]);
    // `freesUs` is for the 9 units of the step, not for the 3 that were given back.
    expect(after).toMatchObject({ allowed: true, used: 4, freesUs: receipt.atUs });
  });
});
