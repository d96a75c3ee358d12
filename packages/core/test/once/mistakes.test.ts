/** Wrong use of idempotency keys, and the resulting errors. */

import { createGuard, type IdempotencyOptions, idempotency, rateLimit } from '@spillway/core';
import { Gate } from '@spillway/core/adapter';
import { remoteStore } from '@spillway/core/store';
import { fakeTime, request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { Call, OnceStore, setUp } from './gate-set-up.js';

const scope = () => 'ada';
const headers = { 'idempotency-key': 'key-1' };
const code = (expected: string) => expect.objectContaining({ code: expected });

describe('options of idempotency', () => {
  it.each([
    [{ scope: undefined }, 'SPW_SCOPE_INVALID'],
    [{ scope: 'ada' }, 'SPW_SCOPE_INVALID'],
    [{ name: '' }, 'SPW_NAME_INVALID'],
    [{ header: 'a b' }, 'SPW_OPTION_INVALID'],
    [{ methods: ['post'] }, 'SPW_OPTION_INVALID'],
    [{ methods: 'POST' }, 'SPW_OPTION_INVALID'],
    [{ required: 'yes' }, 'SPW_OPTION_INVALID'],
    [{ lease: '0s' }, 'SPW_OPTION_INVALID'],
    [{ lease: '60s', maxRun: '30s' }, 'SPW_OPTION_INVALID'],
    [{ keep: '401d' }, 'SPW_OPTION_INVALID'],
    [{ keepBody: 1 }, 'SPW_OPTION_INVALID'],
    [{ keepFirst: 1 }, 'SPW_OPTION_INVALID'],
    [{ keepIf: true }, 'SPW_OPTION_INVALID'],
    [{ freeOn: 503 }, 'SPW_OPTION_INVALID'],
    [{ freeOn: [200] }, 'SPW_OPTION_INVALID'],
    [{ freeOn: ['503'] }, 'SPW_OPTION_INVALID'],
    [{ methods: [] }, 'SPW_OPTION_INVALID'],
    [{ maxBody: 2_000_000 }, 'SPW_OPTION_INVALID'],
    [{ keepHeaders: ['Set-Cookie'] }, 'SPW_OPTION_INVALID'],
    [{ keepHeaders: ['RateLimit-Policy'] }, 'SPW_OPTION_INVALID'],
    [{ fingerprint: 'body' }, 'SPW_OPTION_INVALID'],
    [{ mismatchStatus: 400 }, 'SPW_OPTION_INVALID'],
    [{ wait: '2m' }, 'SPW_OPTION_INVALID'],
    [{ mode: 'on' }, 'SPW_OPTION_INVALID'],
    [{ onStoreError: 'local' }, 'SPW_OPTION_INVALID'],
    [{ retryAfter: 'soon' }, 'SPW_OPTION_INVALID'],
  ])('throw where they are wrong: %o', (options, expected) => {
    const all = { scope, ...options } as IdempotencyOptions;
    expect(() => idempotency(all)).toThrow(code(expected));
  });

  it('keep their defaults where they are undefined', () => {
    const options = { scope, name: undefined, lease: undefined, keep: undefined, wait: undefined };
    const { name, rule } = idempotency(options);
    expect([name, rule]).toMatchObject(['once', { leaseUs: 30_000_000, keepUs: 86_400_000_000 }]);
  });
});

describe('a guard with idempotency', () => {
  it('is not made by createGuard, which sees no responses', () => {
    expect(() => createGuard(idempotency({ scope }))).toThrow(code('SPW_CAPTURE_MISSING'));
  });

  it('has one at most', () => {
    const two = [idempotency({ scope }), idempotency({ scope, name: 'twice' })];
    expect(() => new Gate(two, {})).toThrow(code('SPW_LIMITER_INVALID'));
  });

  it('needs a store that keeps values', () => {
    const { values: _, ...store } = remoteStore(new OnceStore());
    const bare = remoteStore({ ...store, sync: false, apply: async () => [] }) as never;
    expect(() => new Gate(idempotency({ scope }), { store: bare })).toThrow(
      code('SPW_STORE_INVALID'),
    );
  });

  it('needs an exchange that shows responses, and says so at the first request', () => {
    const gate = new Gate(idempotency({ scope }), {});
    const exchange = {
      isGone: () => false,
      onClosed() {},
      getHeader() {},
      setHeader() {},
      reject() {},
    };
    expect(() => gate.enter(request(), exchange, {})).toThrow(code('SPW_CAPTURE_MISSING'));
  });
});

describe('a request whose caller is not known', () => {
  fakeTime();

  it.each([
    ['none', () => undefined],
    ['an empty one', () => ''],
    ['one that is too long', () => 'a'.repeat(9_000)],
    ['a rejection', () => Promise.reject(new Error('bug'))],
    [
      'an exception',
      () => {
        throw new Error('bug');
      },
    ],
  ] as [string, IdempotencyOptions['scope']][])('is refused: scope gave %s', async (_, own) => {
    const { send, faults, store } = setUp({ scope: own });
    expect((await send()).refusal?.status).toBe(503);
    expect(faults.at(-1)).toMatchObject({
      limiter: 'once',
      source: 'scope',
      error: code('SPW_SCOPE_INVALID'),
    });
    expect(store.calls).toEqual([]);
  });

  it('runs without a claim where the app allows that', async () => {
    const { send } = setUp({ scope: () => undefined, onStoreError: 'allow' });
    expect((await send()).passage).toBe('pass');
    expect((await send()).passage).toBe('pass');
  });

  it('may be named later', async () => {
    const { send } = setUp({ scope: async () => 'ada' });
    const first = await send();
    first.end('done');
    await first.close();
    expect((await send()).text).toBe('done');
  });
});

describe('a limiter behind idempotency', () => {
  fakeTime();

  it('that refuses leaves no claim, and local refusals ask no store', async () => {
    const store = remoteStore(new OnceStore());
    const shed = { kind: 'local', name: 'shed', mode: 'enforce' } as const;
    const decide = () => ({ ...never, limiter: 'shed', reason: 'overload' as const });
    const never = {
      allowed: false,
      outcome: 'denied' as const,
      cost: 1,
      used: 1,
      remaining: 0,
      retryAfterMs: 1_000,
      resetMs: NaN,
    };
    const gate = new Gate([idempotency({ scope }), { ...shed, decide }], { store, logger: false });
    const call = new Call();
    expect(await gate.enter(request({ method: 'POST', headers }), call, call)).toBe('rejected');
    expect(call.refusal?.status).toBe(503);
    expect(store.calls).toEqual([]);
  });

  it('is not asked about a key that is none, nor is the store', async () => {
    const store = remoteStore(new OnceStore());
    const limit = rateLimit({ name: 'one', limit: 1, window: '1h', key: 'all', cost: () => 2 });
    const gate = new Gate([idempotency({ scope }), limit], { store, logger: false });
    const call = new Call();
    await gate.enter(
      request({ method: 'POST', headers: { 'idempotency-key': 'a,b' } }),
      call,
      call,
    );
    expect(call.refusal?.status).toBe(400);
    expect(store.calls).toEqual([]);
  });
});
