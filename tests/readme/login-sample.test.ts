/** The login sample, as it is printed: failures count, whatever the response to a success is. */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Express } from 'express';
import type { Redis } from 'ioredis';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { findSnippets } from './snippets.js';

/** Only the sample for Express: the shared tests of adapters cover the other frameworks. */
const samples = findSnippets().filter(
  ({ code }) => code.includes("name: 'failed-logins'") && code.includes("'@spillway/express'"),
);
/** As it says: five failures in a quarter of an hour. */
const LIMIT = 5;

const dir = mkdtempSync(join(import.meta.dirname, '.login-'));
const ends: (() => void)[] = [];
let redis: RedisServer;
/** Each app has a separate database, so none sees the counts of another. */
let database = 0;
beforeAll(async () => {
  if (redisProgram !== null) redis = await RedisServer.up((end) => ends.push(end));
});
afterAll(() => {
  for (const end of ends) end();
  rmSync(dir, { recursive: true, force: true });
});

it('stands in the guide and with Express', () => {
  const files = samples.map(({ file }) => file);
  expect(files).toEqual(expect.arrayContaining(['docs/guide.md', 'packages/express/README.md']));
});

for (const [index, { source, code }] of samples.entries()) {
  describe.skipIf(redisProgram === null)(source, () => {
    it.each([200, 204, 302])('a login that answers %i is never limited', async (status) => {
      const login = await serve(`${index}-${status}`, code);
      for (let i = 0; i < LIMIT + 3; i += 1) expect(await login(`status=${status}`)).toBe(status);
    });

    it.each([401, 422, 500])('the sixth login that answers %i gets a 429', async (status) => {
      const login = await serve(`${index}-${status}`, code);
      for (let i = 0; i < LIMIT; i += 1) expect(await login(`status=${status}`)).toBe(status);
      expect(await login(`status=${status}`)).toBe(429);
    });

    it('so does the sixth after five that did not wait for their answer', async () => {
      const login = await serve(`${index}-aborted`, code);
      for (let i = 0; i < LIMIT; i += 1)
        await login('wait=1', AbortSignal.timeout(100)).catch(() => 0);
      expect(await login('status=200')).toBe(429);
    });
  });
}

const BEFORE = `import express from 'express';\nexport const app = express();\n`;
/** A client, for samples that leave it to the reader. */
const CLIENT = `import { Redis } from 'ioredis';\nconst redis = new Redis('redis://localhost');\n`;
const AFTER = `\nexport const client = typeof redis === 'undefined' ? undefined : redis;\n`;

/** Runs the sample's app in front of a login that answers as the test says. */
async function serve(name: string, code: string) {
  const file = join(dir, `${name}.ts`);
  const isWithout = /redisStore\(redis\)/.test(code) && !/const redis =/.test(code);
  const whole = `${isWithout ? CLIENT : ''}${code}`;
  const printed = whole.replace(/'redis:\/\/[^']*'/, `'${redis.url}/${database++ % 16}'`);
  writeFileSync(file, `${BEFORE}${printed}${AFTER}`);
  const { app, client } = (await import(/* @vite-ignore */ file)) as {
    app: Express;
    client?: Redis;
  };
  app.post('/login', ({ query }, response) => {
    if (query['wait'] === undefined) response.status(Number(query['status'])).end();
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    client?.disconnect();
  });
  const { port } = server.address() as AddressInfo;
  return async (query: string, signal?: AbortSignal) => {
    const url = `http://127.0.0.1:${port}/login?${query}`;
    const init = { method: 'POST', redirect: 'manual', ...(signal && { signal }) } as const;
    return (await fetch(url, init)).status;
  };
}
