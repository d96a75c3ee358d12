/**
 * Texts that clients, operators and Redis could send, and the same with some bytes changed. The texts of
 * tests/proof/corpus come first, unchanged: add a text there when it has failed.
 */

import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import {
  canonicalAddress,
  createLimiters,
  idempotency,
  isSpillwayError,
  memoryStore,
  rateLimitHeaders,
} from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { encodeName } from '@spillway/core/store';
import { redisControl } from '@spillway/redis';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ModelRedis } from './redis/model-redis.js';

const RUNS = { numRuns: 400, seed: 20_260_101 };

function corpus(name: string): readonly string[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'corpus', `${name}.json`), 'utf8'));
}

/** Texts of the corpus, of which parts are left out, doubled, exchanged, or replaced by any character. */
function textsLike(name: string): fc.Arbitrary<string> {
  const known = fc.constantFrom(...corpus(name));
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.nat(4),
    by: fc.oneof(
      fc.string({ unit: 'binary', maxLength: 2 }),
      known,
      fc.constantFrom('"', '\\', '{', '}', ':', ',', ';', '%', '\u0000', '\u00ff', '\ud800'),
    ),
  });
  return fc.tuple(known, fc.array(edit, { maxLength: 5 })).map(([text, edits]) =>
    edits.reduce((now, { at, length, by }) => {
      const from = Math.floor(at * (now.length + 1));
      return now.slice(0, from) + by + now.slice(from + length);
    }, text),
  );
}

/** Runs `check` on each text of the corpus, and on texts like them. */
async function eachText(name: string, check: (text: string) => Promise<void> | void) {
  for (const text of corpus(name)) await check(text);
  await fc.assert(
    fc.asyncProperty(textsLike(name), async (text) => check(text)),
    RUNS,
  );
}

test('no two keys have one name, and none escapes its hash tag', async () => {
  const owners = new Map<string, string>();
  await eachText('keys', (key) => {
    if (key === '' || key.length > 8_192) return;
    const name = encodeName('api', key, 'b1', {});
    expect(owners.get(name) ?? key).toBe(key);
    owners.set(name, key);
    // Redis hashes what stands between the first brace and the first that closes.
    const tag = /\{([^}]*)\}/.exec(name)?.[1];
    expect(tag).toBe(/\{([^}]*)\}/.exec(encodeName('other', key, 'w2', {}))?.[1]);
  });
});

test('two keys are counted apart, whatever is in them', async () => {
  const limiters = createLimiters({ once: { limit: 1, window: '1h' } }, { store: memoryStore() });
  const seen = new Set<string>();
  await eachText('keys', (key) => {
    if (key === '' || key.length > 8_192) return;
    expect(limiters.consume({ once: key }).allowed).toBe(!seen.has(key));
    seen.add(key);
  });
});

test('an address is written in one way, or is none', async () => {
  await eachText('addresses', (text) => {
    const address = canonicalAddress(text);
    if (address === undefined) return;
    // For IPv6 it is a network.
    const [first = ''] = address.split('/');
    expect(isIP(first)).toBeGreaterThan(0);
    expect(canonicalAddress(first)).toBe(address);
  });
});

test('the headers of any name are structured fields', async () => {
  const item = /^"(?:[ !#-[\]-~]|\\["\\])*"(?:;[a-z]+=(?:\d{1,15}|"[a-z-]+"))*$/;
  await eachText('names', (name) => {
    const settings = { store: memoryStore(), headers: rateLimitHeaders() };
    try {
      const limiters = createLimiters({ [name]: { limit: 1, window: '1m' } }, settings);
      const { headers } = limiters.consume({ [name]: 'ada' });
      for (const [field, value] of headers) {
        if (field.startsWith('RateLimit')) expect(value).toMatch(item);
      }
    } catch (error) {
      expect(isSpillwayError(error) && error.code).toBe('SPW_NAME_INVALID');
    }
  });
});

/** A guard with idempotency keys, and a client of it. */
function service(): (key: string, body: string) => Promise<{ status: number; text: string }> {
  let runs = 0;
  const guard = fetchGuard<Request>(idempotency({ scope: () => 'ada' }), {
    store: memoryStore(),
    clientIp: () => '203.0.113.7',
    logger: false,
  });
  const handler = guard.wrap(async (request) => {
    await request.text();
    runs += 1;
    return new Response(`run ${runs}`);
  });
  return async (key, body) => {
    const headers = { 'idempotency-key': key, 'content-type': 'application/json' };
    const request = new Request('http://api.example/', { method: 'POST', headers, body });
    const response = await handler(request);
    const { status } = response;
    const text = await response.text();
    return { status, text: status === 200 ? text : '' };
  };
}

test('any idempotency key runs once, or is refused', async () => {
  const send = service();
  await eachText('idempotency-keys', async (key) => {
    // Others cannot be sent.
    if (!/^[\t -~\u0080-\u00ff]*$/.test(key)) return;
    const first = await send(key, '{}');
    expect([200, 400]).toContain(first.status);
    expect(await send(key, '{}')).toEqual(first);
  });
});

test('any body is the same as itself, and no other has its answer but one of equal JSON', async () => {
  await eachText('bodies', async (body) => {
    const send = service();
    const first = await send('k', body);
    expect(first).toEqual({ status: 200, text: 'run 1' });
    expect(await send('k', body)).toEqual(first);
    expect((await send('k', `${body}x`)).status).toBe(422);
  });
});

test('no record in Redis makes a control throw', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(textsLike('settings'), textsLike('settings')), { maxLength: 6 }),
      textsLike('settings'),
      async (fields, entry) => {
        const server = new ModelRedis();
        const hash = new Map(fields.map(([name, value]) => [bytes(name), bytes(value)]));
        if (hash.size > 0) server.db.write('spw:{%control}settings', 'hash', hash);
        server.db.write('spw:{%control}revision', 'string', '7');
        server.db.write('spw:{%control}history', 'list', [bytes(entry)]);
        const nowUs = (): number => Date.now() * 1_000;
        const control = redisControl(
          {
            state: 'ready',
            evalsha: async (sha, keys, args) => decoded(server.evalsha(sha, keys, args, nowUs())),
            eval: async (text, keys, args) => decoded(server.eval(text, keys, args, nowUs())),
            onceChanged: () => () => undefined,
          },
          { onFault: () => undefined },
        );
        expect(await control.refresh()).toBe(true);
        for (const limiter of ['api', '*', '__proto__']) {
          control.settingsOf(limiter);
          control.overrideOf(limiter, 'ada');
          control.limitsOf?.(limiter, 'ada');
        }
        await control.list();
        await control.history();
        control.close();
      },
    ),
    RUNS,
  );
});

const bytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

function decoded(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(decoded);
  return typeof reply === 'string' ? Buffer.from(reply, 'latin1').toString('utf8') : reply;
}
