/** The commands of tools/prove.js. */

import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { findRedis, startRedis } from '../../packages/testkit/src/redis-process.js';
import { agree } from './redis/agreement.js';

export async function main([command, ...args]: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '60' },
      steps: { type: 'string', default: '1000000' },
    },
  });
  const seed = Number(values.seed);
  if (command === 'agreement') await agreement(Number(values.steps), seed);
}

/** @throws Error if there is no Redis, or it disagrees with the model */
async function agreement(steps: number, seed: number): Promise<void> {
  const program = findRedis();
  if (program === null) throw new Error('no Redis: install redis-server');
  const server = await startRedis(program);
  const redis = new Redis(server.url);
  try {
    const done = await agree(redis, steps, seed);
    console.log(`agreed: ${done.toLocaleString('en')} steps, 0 differences (seed ${seed})`);
  } finally {
    redis.disconnect();
    server.stop();
  }
}
