/** The demo of the dispatcher: eight processes share the pace of two carriers, and it says so if there is no Redis. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ROOT } from 'spillway-testkit';
import { checkBuilt } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const SECONDS = 6;
const PER_SECOND = 4;
const LINES = ['north-1', 'north-2', 'south-1'];

/** Runs the demo to its end. */
async function run(own: Readonly<Record<string, string>>, onText?: (text: string) => void) {
  const { REDIS_URL: _, ...env } = process.env;
  const file = join(ROOT, 'apps', 'demo-dispatcher', 'start.js');
  const child = spawn(process.execPath, [file], { env: { ...env, ...own } });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  let errors = '';
  child.stdout.on('data', (chunk) => {
    text += String(chunk);
    onText?.(text);
  });
  child.stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  const [code] = await once(child, 'close');
  return { code, text, errors };
}

/** How many messages of a line were taken, and rejected. */
function counts(text: string, line: string): readonly number[] {
  const found = new RegExp(`^${line}: (\\d+) taken, (\\d+) rejected`, 'm').exec(text);
  return (found ?? []).slice(1).map(Number);
}

beforeAll(() => checkBuilt('express'));

describe('the dispatcher', () => {
  it.skipIf(redisProgram === null)(
    'sends by every line at its pace, from every worker',
    async () => {
      const redis = await RedisServer.up();
      const { code, text, errors } = await run({ REDIS_URL: redis.url, SECONDS: `${SECONDS}` });
      expect([code, errors]).toEqual([0, '']);
      for (const line of LINES) {
        const [taken = 0, refused = 0] = counts(text, line);
        expect(taken).toBeGreaterThan(0);
        // The first comes at once, and what waits in the end may wait for half a second more.
        expect(taken + refused).toBeLessThanOrEqual(1 + PER_SECOND * (SECONDS + 1));
      }
      const workers = new Set([...text.matchAll(/(\d)\+\d+/g)].map(([, worker]) => worker));
      expect(workers.size).toBe(8);
    },
  );

  it.skipIf(redisProgram === null).each(['freeze', 'kill'] as const)(
    'loses no worker to an outage, in which a carrier refuses too: %s',
    async (way) => {
      const redis = await RedisServer.up();
      let isOut = false;
      const env = { REDIS_URL: redis.url, SECONDS: '12', REJECT_EACH: '2' };
      // From the busy time on, to the end.
      const { code, text, errors } = await run(env, (said) => {
        if (isOut || !said.includes('  4.0 s')) return;
        isOut = true;
        void redis[way]();
      });
      expect(isOut).toBe(true);
      expect(text.slice(text.indexOf('  4.5 s'))).toContain('!');
      // What a process that ends by an error says last.
      expect([code, errors.match(/^Node\.js v/gm)]).toEqual([0, null]);
    },
  );

  it('says what to do where there is no Redis', async () => {
    const { code, errors } = await run({});
    expect(code).toBe(1);
    expect(errors).toContain('REDIS_URL=redis://127.0.0.1:6379 npm run demo:dispatcher');
  });

  it('says what is wrong where none answers', async () => {
    const { code, errors } = await run({ REDIS_URL: 'redis://127.0.0.1:1' });
    expect(code).toBe(1);
    expect(errors).toContain('ECONNREFUSED');
  });
});
