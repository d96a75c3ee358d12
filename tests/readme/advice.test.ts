/** Whoever copies one of our examples gets a limit that callers cannot evade by what they choose to send. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findSnippets, ROOT } from './snippets.js';

/**
 * Input of an option that a caller can choose freely: a new value would get a fresh count, or protect from shedding.
 */
const CHOSEN_KEY =
  /\b(?:key|\w+Key|account|subject)\b\s*[:=](?!=)[^;,]*?(?:\bheaders?\b|\.get\('x-)/;
const CHOSEN_CLASS =
  /\b(?:priority|classify)\b\s*[:=](?!=)[^;,]*?(?:\bheaders?\b|startsWith\(|\bpath\b|\burl\b|\broute\b)/;

const snippets = findSnippets();

/** Demos are copied as well. They have no accounts: a header replaces the account, and a comment says so. */
const DEMOS = [
  'demo-dispatcher/start.js',
  'demo-dispatcher/worker.js',
  'demo-express/server.js',
  'demo-fastify/server.js',
  'demo-koa/server.js',
  'demo-hono-node/app.js',
  'demo-hono-node/store.js',
  'demo-nestjs/server.js',
].map((file) => ({ file, code: readFileSync(join(ROOT, 'apps', file), 'utf8') }));

describe('examples', () => {
  it('take keys from what authentication has found, never from what a caller sends', () => {
    expect(sources(({ code }) => CHOSEN_KEY.test(code))).toEqual([]);
  });

  it('call nothing critical that a caller can choose', () => {
    expect(sources(({ code }) => CHOSEN_CLASS.test(code))).toEqual([]);
  });

  it('give each connection to Redis a socketTimeout, and a listener for its errors', () => {
    const connecting = snippets.filter(({ code }) => makesClient(code));
    expect(connecting.length).toBeGreaterThan(3);
    expect(sources(({ code }) => makesClient(code) && !isSafeClient(code))).toEqual([]);
  });

  it('would be found, if they did otherwise', () => {
    expect("key: (request) => request.header('x-api-key'),").toMatch(CHOSEN_KEY);
    expect("const apiKey = ({ raw }) =>\n  raw.get('x-api-key');").toMatch(CHOSEN_KEY);
    expect('key: ({ raw }) => raw.user?.id, headers: []').not.toMatch(CHOSEN_KEY);
    expect("priority: ({ path }) => (path.startsWith('/charges')").toMatch(CHOSEN_CLASS);
    expect("classify: (r) => r.header('x-class')").toMatch(CHOSEN_CLASS);
    expect("priority: ({ raw }) => (raw.user?.plan === 'paid'").not.toMatch(CHOSEN_CLASS);
  });
});

describe.each(DEMOS)('$file', ({ code }) => {
  it('says that a header stands for an account where one does', () => {
    const takesHeader = CHOSEN_KEY.test(code);
    expect(/a demo has no accounts/i.test(code)).toBe(takesHeader);
  });

  it('gives its connection to Redis a socketTimeout, and a listener for its errors', () => {
    expect(makesClient(code) && !isSafeClient(code)).toBe(false);
  });
});

function sources(are: (snippet: { readonly code: string }) => boolean): string[] {
  return snippets.filter(are).map(({ source }) => source);
}

/** ioredis alone has such connections: over HTTP there are none, and node-redis has its own rules. */
function makesClient(code: string): boolean {
  return code.includes("from 'ioredis'") && code.includes('new Redis(');
}

function isSafeClient(code: string): boolean {
  return code.includes('socketTimeout') && /\.on\('error'/.test(code);
}
