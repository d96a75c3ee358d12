/** A shaper with many keys, such as one for each host that receives webhooks. */

import { createShaper } from '@spillway/outgoing';
import { expect, it } from 'vitest';

const JOBS = 400;

/** The CPU time to accept jobs, in microseconds, while jobs of `keys` other keys wait. */
async function costWith(keys: number): Promise<number> {
  const shaper = createShaper({ limit: 1, window: '1h', maxWait: '10h', maxQueue: 100_000 });
  const jobs: Promise<unknown>[] = [];
  const schedule = (key: string) => {
    const job = shaper.schedule(key, () => undefined);
    jobs.push(job.catch(() => undefined));
  };
  for (let key = 0; key < keys; key += 1) {
    schedule(`${key}`);
    schedule(`${key}`);
  }
  const before = process.cpuUsage();
  for (let job = 0; job < JOBS; job += 1) schedule(`${job % 50}`);
  const { user } = process.cpuUsage(before);
  await shaper.close();
  await Promise.all(jobs);
  return user;
}

it('a job costs about the same, however many keys wait', async () => {
  await costWith(50); // once, to warm up
  const few = await costWith(50);
  const many = await costWith(6_000);
  expect(many / few).toBeLessThan(5);
}, 120_000);
