/** The commands on one idempotency key, against a real Redis and a service that stores responses in it. */

import { idempotency } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { makeClaimsRule } from '@spillway/core/store';
import { redisStore } from '@spillway/redis';
import { serveListener } from 'spillway-testkit/http';
import { redisProgram } from 'spillway-testkit/redis';
import { beforeEach, describe, expect, it } from 'vitest';
import { because, commandOnRedis } from './command.js';

const BODY = 'ada@example.com\u001b[2J';
const WITHIN = { timeout: 10_000 };
/** Its lease is not renewed within a test. */
const once = idempotency({ scope: () => 'ada', lease: '1h' });
const on = ['--scope', 'ada', '--key', 'order-17'];

describe.skipIf(redisProgram === null)('spillway once', () => {
  const { redis, spillway, json, announce, announceRule } = commandOnRedis();

  beforeEach(() => announceRule(makeClaimsRule(3_600_000_000, 86_400_000_000), 'once'));

  async function service(hold?: Promise<void>) {
    let runs = 0;
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const store = redisStore(redis(), { logger: false });
    const guard = nodeGuard(once, { store, storeTimeout: '5s' });
    const { port } = await serveListener(async (req, res) => {
      if (!(await guard(req, res))) return;
      runs += 1;
      begin();
      await hold;
      res.setHeader('Content-Type', 'text/plain');
      res.end(BODY);
    });
    const post = async () => {
      const headers = { 'idempotency-key': 'order-17' };
      const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers });
      await response.text();
      return response;
    };
    // The end of a response does not wait until the response is stored.
    const isOver = () => expect.poll(done, WITHIN).toBe(true);
    return { post, runs: () => runs, begun, isOver };
  }

  /** The value is written before the claim is marked. */
  const done = async () => {
    const claims = await redis().keys('*}c#*');
    return /^\d+d/.test((await redis().get(claims[0] ?? '')) ?? '');
  };

  const shown = (...args: string[]) =>
    json<{ once: Record<string, unknown> }>('once', 'show', ...on, ...args);

  it('shows a key that is free, and writes nothing', async () => {
    const before = await redis().keys('*');
    expect(await spillway(['once', 'show', ...on])).toEqual({
      code: 0,
      out: 'The key is free: no request with it is running, and no response is stored.\n',
      err: '',
    });
    expect(await redis().keys('*')).toEqual(before);
  });

  it('says that a limiter is none, instead of that its keys are free', async () => {
    await redis().flushall();
    await announce('api');
    const { code, err } = await spillway(['once', 'show', '--limiter', 'api', ...on]);
    expect(code).toBe(2);
    expect(err).toContain('api is not an idempotency()');
  });

  it('shows the request and the answer, and the body only if asked, without codes', async () => {
    const { post, isOver } = await service();
    await post();
    await isOver();
    const { out } = await spillway(['once', 'show', ...on]);
    expect(out).toMatch(/^state +done\nowner +[\w-]{16}\nstored until +\d{4}-.*\(23h 59m|1d 0h\)/);
    expect(out).toMatch(
      /\nresponse +200, body of 19 bytes; \d+ bytes in all\n +Content-Type: text/,
    );
    expect(out).not.toContain('example.com');
    const { out: all } = await spillway(['once', 'show', ...on, '--body']);
    expect(all).toContain('\n\nada@example.com\\u{1b}[2J\n');
  });

  it('prints the same as JSON', async () => {
    const { post, isOver } = await service();
    await post();
    await isOver();
    const { once } = await shown();
    expect(once).toMatchObject({
      state: 'done',
      note: { isStored: true },
      answer: { status: 200, bodySize: 19 },
    });
    expect(JSON.stringify(once)).not.toContain('example.com');
    expect((await shown('--body')).once).toMatchObject({ answer: { body: BODY } });
  });

  it('drops a key that is done: the answer is gone, the next request runs, the history tells', async () => {
    const { post, runs, isOver } = await service();
    await post();
    await isOver();
    const { code, out } = await spillway(['once', 'drop', ...on, ...because]);
    expect({ code, out }).toEqual({
      code: 0,
      out: 'Done: the key is free, and its response is deleted. The next request with it runs.\n',
    });
    await expect.poll(() => redis().keys('*}v#*'), WITHIN).toEqual([]);
    const { changes } = await json<{ changes: unknown[] }>('status');
    const change = { limiter: 'once', key: 'ada order-17', by: 'ada', because: 'a test' };
    expect(changes).toMatchObject([change]);
    expect((await post()).headers.get('idempotency-replayed')).toBeNull();
    expect(runs()).toBe(2);
    await isOver();
  });

  it('drops a key that is running only if told so', async () => {
    let open = (): void => {};
    const hold = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { post, begun, isOver } = await service(hold);
    const first = post();
    await begun;
    const { code, err } = await spillway(['once', 'drop', ...on, ...because]);
    expect(code).toBe(2);
    expect(err).toContain('add --running');
    expect((await shown()).once).toMatchObject({ state: 'running', answer: null });
    expect((await spillway(['once', 'drop', ...on, ...because, '--running'])).code).toBe(0);
    expect((await shown()).once).toMatchObject({ state: 'free' });
    open();
    await first;
    await isOver(); // the response of the run is stored anyway, because the run was not stopped
  });

  it('says that there is nothing to drop, and notes nothing', async () => {
    expect(await json('once', 'drop', ...on, ...because)).toEqual({ dropped: null });
    expect((await json<{ changes: unknown[] }>('status')).changes).toEqual([]);
  });

  it('wants a reason, a caller, and a limiter that there is', async () => {
    expect((await spillway(['once', 'drop', ...on])).code).toBe(2);
    expect((await spillway(['once', 'show', '--key', 'order-17'])).code).toBe(2);
    const misspelt = await spillway(['once', 'show', ...on, '--limiter', 'onse']);
    expect(misspelt.code).toBe(2);
    expect(misspelt.err).toContain('Announced: once.');
  });

  it('finds keys that the store hides', async () => {
    const env = { SPILLWAY_HASH_KEYS: 'secret' };
    const store = redisStore(redis(), { hashKeys: 'secret', logger: false });
    const guard = nodeGuard(once, { store, storeTimeout: '5s' });
    const { port } = await serveListener(async (req, res) => {
      if (await guard(req, res)) res.end('ok');
    });
    const headers = { 'idempotency-key': 'order-17' };
    await (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers })).text();
    await expect.poll(done, WITHIN).toBe(true);
    expect((await spillway(['once', 'show', ...on], env)).out).toContain('200, body of 2 bytes');
    expect((await spillway(['once', 'show', ...on])).out).toContain('The key is free');
  });
});
