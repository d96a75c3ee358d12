/** The demo of the dispatcher: eight processes share the limits of three partners. Without a Redis, it says so. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ROOT } from 'spillway-testkit';
import { checkBuilt } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const SECONDS = 6;
/** As long as the workers drain. */
const DRAIN_SECONDS = 3;
/** As in apps/demo-dispatcher/partners.js. */
const PARTNERS = { north: [8, 4], south: [4, 2], west: [20, 1] } as const;

/** Runs the demo to its end. */
async function run(own: Readonly<Record<string, string>>, onText?: (text: string) => void) {
  const { REDIS_URL: _, ...env } = process.env;
  const file = join(ROOT, 'apps', 'demo-dispatcher', 'start.js');
  const child = spawn(process.execPath, [file], { env: { ...env, PORT: '0', ...own } });
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

/** How many messages a partner has taken and rejected, and how many it had at once. */
function counts(text: string, name: string): readonly number[] {
  const form = `^${name}: (\\d+) taken, (\\d+) rejected, at most (\\d+) at once`;
  const found = new RegExp(form, 'm').exec(text);
  return (found ?? []).slice(1).map(Number);
}

beforeAll(() => checkBuilt('express'));

describe('the dispatcher', () => {
  it.skipIf(redisProgram === null)(
    'sends to every partner at its pace and concurrency, from every worker',
    async () => {
      const redis = await RedisServer.up();
      const { code, text, errors } = await run({ REDIS_URL: redis.url, SECONDS: `${SECONDS}` });
      expect([code, errors]).toEqual([0, '']);
      for (const [name, [perSecond, atOnce]] of Object.entries(PARTNERS)) {
        const [taken = 0, rejected = 0, most = 0] = counts(text, name);
        expect(taken).toBeGreaterThan(0);
        const seconds = SECONDS + DRAIN_SECONDS + 1;
        expect(taken + rejected).toBeLessThanOrEqual(1 + perSecond * seconds);
        expect(most).toBeGreaterThan(0);
        expect(most).toBeLessThanOrEqual(atOnce);
      }
      expect(text).toMatch(/health of west: [1-9]\d* waiting, [01] running/);
      expect(text).toMatch(/drained: \d+ messages/);
      const workers = new Set([...text.matchAll(/(\d)\+\d+/g)].map(([, worker]) => worker));
      expect(workers.size).toBe(8);
    },
  );

  it.skipIf(redisProgram === null).each(['freeze', 'kill'] as const)(
    'loses no worker to an outage, in which a partner rejects too: %s',
    async (way) => {
      const redis = await RedisServer.up();
      let isOut = false;
      const env = { REDIS_URL: redis.url, SECONDS: '12', REJECT_EACH: '2' };
      // The outage lasts from the busy phase to the end.
      const { code, text, errors } = await run(env, (said) => {
        if (isOut || !said.includes('  4.0 s')) return;
        isOut = true;
        void redis[way]();
      });
      expect(isOut).toBe(true);
      expect(text.slice(text.indexOf('  4.5 s'))).toContain('!');
      // The last line of a process that ends with an error.
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
