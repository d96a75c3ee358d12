/** Missing options of a fetch guard, and a guard that is mounted twice. */

import { concurrencyLimit, type Fault, memoryStore, rateLimit } from '@spillway/core';
import { type FetchGuardOptions, fetchGuard } from '@spillway/core/fetch';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ask, laterStore } from './fetch-set-up.js';

const REQUIRED = { source: 'adapter', error: { code: 'SPW_ADDRESS_REQUIRED' } };

describe('an address that nobody can tell', () => {
  it.each<[string, Parameters<typeof rateLimit>[0]['mode'], FetchGuardOptions, unknown[]]>([
    ['in shadow', 'shadow', {}, [REQUIRED]],
    ['in shadow behind a store that answers later', 'shadow', { store: laterStore() }, [REQUIRED]],
    ['off', 'off', {}, []],
    ['skipped', 'enforce', { skip: () => true }, []],
    ['of a guard in shadow', 'enforce', { mode: () => 'shadow' }, [REQUIRED]],
  ])('fails no request where the limit is %s', async (_, mode = 'enforce', options, expected) => {
    const faults: Fault[] = [];
    const limiter = rateLimit({ name: 'a', limit: 1, window: '1h', mode });
    const limits = fetchGuard(limiter, { ...options, onFault: (fault) => faults.push(fault) });
    const response = await limits.wrap(() => new Response('hello'))(ask());
    expect(await response.text()).toBe('hello');
    expect(faults).toMatchObject(expected);
  });
});

it('ends no process where clientIp is async and rejects, though only the check of keys reads it', async () => {
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  const clientIp = (async () => {
    throw new Error('no address');
  }) as unknown as () => undefined;
  const limiter = rateLimit({ name: 'a', limit: 1, window: '1h', key: () => 'all' });
  const limits = fetchGuard(limiter, { clientIp, logger: { warn: () => undefined } });
  await limits.check(ask());
  await new Promise(setImmediate);
  expect(unhandled).not.toHaveBeenCalled();
});

it('tells nobody of a missing address where the logger is off', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  onTestFinished(() => warn.mockRestore());
  const limiter = rateLimit({ name: 'a', limit: 1, window: '1h', mode: 'shadow' });
  await fetchGuard(limiter, { logger: false }).wrap(() => new Response('hello'))(ask());
  expect(warn).not.toHaveBeenCalled();
});

describe('the same guard twice on one request', () => {
  it('counts it once, dresses the answer once, and says so once', async () => {
    const lines: string[] = [];
    const limits = fetchGuard(rateLimit({ name: 'same', limit: 2, window: '1h', key: 'all' }), {
      logger: { warn: (line) => lines.push(line) },
    });
    const handler = limits.wrap(limits.wrap(() => new Response('hello')));
    for (const left of [1, 0]) {
      const response = await handler(ask());
      expect(response.headers.get('ratelimit')).toMatch(new RegExp(`^"same";r=${left};t=\\d+$`));
    }
    expect((await handler(ask())).status).toBe(429);
    expect(lines).toMatchObject([expect.stringContaining('SPW_REGISTERED_TWICE')]);
  });

  it('holds one permit, to the end of the outer answer', async () => {
    const store = memoryStore();
    const limiter = concurrencyLimit({ name: 'one', limit: 1, key: 'all' });
    const limits = fetchGuard(limiter, { store, logger: false });
    const response = await limits.wrap(limits.wrap(() => new Response('hello')))(ask());
    expect(limits.inProgress).toBe(1);
    expect((await limits.check(ask())).response?.status).toBe(429);
    await response.text();
    expect(limits.inProgress).toBe(0);
    expect((await limits.check(ask())).response).toBeUndefined();
  });

  it('gives a retry of a refused request the same refusal', async () => {
    const limits = fetchGuard(rateLimit({ limit: 1, window: '1h', key: 'all', cost: () => 2 }), {
      logger: false,
    });
    const request = ask();
    const handler = limits.wrap(() => new Response('hello'));
    const bodies = [await (await handler(request)).text(), await (await handler(request)).text()];
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ status: 429 });
    expect(bodies[1]).toBe(bodies[0]);
  });
});
