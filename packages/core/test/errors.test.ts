/** How errors look when they are printed, and which page they name. */

import { inspect } from 'node:util';
import { createGuard, isSpillwayError, rateLimit, SpillwayError } from '@spillway/core';
import { Notices } from '@spillway/core/adapter';
import { remoteStore } from '@spillway/core/store';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { Patient } from './breaker-set-up.js';

const PAGE = 'https://github.com/spillway/spillway/blob/main/docs/errors.md';

/** As Node prints an error that nobody catches. */
const uncaught = (error: unknown) => inspect(error, { customInspect: false });

describe('an error of ours', () => {
  it('has no kind unless a store gave it one', () => {
    const plain = new SpillwayError('SPW_LIMIT_INVALID', 'limit must be more');
    expect('kind' in plain).toBe(false);
    expect(inspect(plain)).not.toContain('kind');
    const told = new SpillwayError('SPW_STORE_ERROR', 'no', { kind: 'noperm' });
    expect(inspect(told)).toContain("kind: 'noperm'");
    expect([plain, told].every(isSpillwayError)).toBe(true);
  });

  it('knows its heading in the documentation', () => {
    const mistake = new SpillwayError('SPW_LIMIT_INVALID', 'limit must be more');
    expect(mistake.help).toBe(`${PAGE}#spw_limit_invalid`);
    expect(mistake.message).toBe('limit must be more (SPW_LIMIT_INVALID)');
    expect(new SpillwayError('SPW_STORE_TIMEOUT', 'late').help).toBe(`${PAGE}#spw_store_timeout`);
  });

  it('prints it when nobody catches the error', () => {
    let thrown: unknown;
    try {
      rateLimit({ limit: 0, window: '1m' });
    } catch (error) {
      thrown = error;
    }
    expect(uncaught(thrown)).toContain(`help: '${PAGE}#spw_limit_invalid'`);
  });

  it('of a store makes no address before it is asked for it', () => {
    for (const code of ['SPW_STORE_ERROR', 'SPW_STORE_TIMEOUT', 'SPW_STORE_UNAVAILABLE'] as const) {
      expect(Object.keys(new SpillwayError(code, 'no'))).not.toContain('help');
    }
    expect(Object.keys(new SpillwayError('SPW_STORE_INVALID', 'none'))).toContain('help');
  });
});

describe('a line for people', () => {
  it('about how an app is put together ends with the code and the address', () => {
    const lines: string[] = [];
    new Notices({ logger: { warn: (line) => lines.push(line) } }).tell(
      'SPW_REGISTERED_TWICE',
      'mounted twice',
    );
    expect(lines).toEqual([
      `Spillway: mounted twice (SPW_REGISTERED_TWICE). See ${PAGE}#spw_registered_twice`,
    ]);
  });

  it('about an outage ends with that of its error', async () => {
    const lines: string[] = [];
    const store = remoteStore(new Patient());
    store.error = new SpillwayError('SPW_STORE_UNAVAILABLE', 'gone');
    const guard = createGuard(rateLimit({ name: 'a', limit: 9, window: '1h' }), {
      store,
      logger: { warn: (line) => lines.push(line) },
    });
    for (let i = 0; i < 5; i += 1) await guard.admit(request());
    expect(lines).toEqual([
      'Spillway: the store is failing (gone (SPW_STORE_UNAVAILABLE)). ' +
        `Meanwhile: a: local. See ${PAGE}#spw_store_unavailable`,
    ]);
  });
});
