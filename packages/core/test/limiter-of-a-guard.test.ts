/** A limiter of `rateLimit`, used without a request: one limit for requests and for other work. */

import {
  concurrencyLimit,
  createGuard,
  createLimiter,
  fixedWindow,
  type LimitRequest,
  memoryStore,
  rateLimit,
  type StoredLimiter,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

const key = ({ header }: LimitRequest) => header('x-user');
const user = (name: string) => request({ headers: { 'x-user': name } });

describe('createLimiter of a limiter that rateLimit made', () => {
  it('counts with the guard that has it', () => {
    const store = memoryStore({ clock: new ManualClock() });
    const perUser = rateLimit({ name: 'per-user', limit: 3, window: '1m', key });
    const guard = createGuard(perUser, { store });
    const jobs = createLimiter(perUser, { store });
    guard.admit(user('ada'));
    expect(jobs.consume('ada', { cost: 2 })).toMatchObject({ allowed: true, remaining: 0 });
    expect(guard.admit(user('ada'))).toMatchObject({ allowed: false });
    expect(jobs.consume('bob')).toMatchObject({ limiter: 'per-user', remaining: 2 });
  });

  it('has its numbers, its algorithm, its mode and its share', () => {
    const perUser = rateLimit({
      name: 'per-user',
      limit: 3,
      window: '1m',
      algorithm: fixedWindow,
      anchor: 'first-request',
      mode: 'shadow',
      share: 0.5,
    });
    const own = createLimiter({
      name: 'per-user',
      limit: 3,
      window: '1m',
      algorithm: fixedWindow,
      anchor: 'first-request',
      mode: 'shadow',
      share: 0.5,
    });
    const limiter = createLimiter(perUser);
    expect(limiter.rule).toEqual(own.rule);
    for (let i = 0; i < 5; i += 1) expect(limiter.consume('ada').allowed).toBe(true);
  });

  it('does without its store what the limiter or the second argument says', async () => {
    const store = remoteStore({ sync: false, apply: () => Promise.reject(new Error('down')) });
    const strict = rateLimit({ name: 'strict', limit: 3, window: '1m', onStoreError: 'deny' });
    const settings = { store, logger: false } as const;
    expect(await createLimiter(strict, settings).consume('ada')).toMatchObject({ allowed: false });
    const allowing = createLimiter(strict, { ...settings, onStoreError: 'allow' });
    expect(await allowing.consume('ada')).toMatchObject({ allowed: true, outcome: 'error' });
  });

  it('takes what needs a request from each call', () => {
    const limiter = createLimiter(
      rateLimit({
        name: 'units',
        limit: 10,
        window: '1m',
        key,
        cost: () => 5,
        plan: () => ({ limit: 100 }),
        refundIf: () => true,
      }),
    );
    expect(limiter.consume('ada').remaining).toBe(9);
    expect(limiter.consume('bob', { cost: 5, plan: { limit: 20 } }).remaining).toBe(15);
  });

  it('needs a name where there is a store', () => {
    const unnamed = rateLimit({ limit: 1, window: '1m' });
    expect(() => createLimiter(unnamed, { store: memoryStore() })).toThrow(
      expect.objectContaining({ code: 'SPW_NAME_REQUIRED' }),
    );
  });

  it('throws for a mode that depends on the request', () => {
    const limiter = rateLimit({ name: 'a', limit: 1, window: '1m', mode: () => 'shadow' });
    expect(() => createLimiter(limiter)).toThrow(
      expect.objectContaining({
        code: 'SPW_OPTION_INVALID',
        message: expect.stringMatching(/mode/),
      }),
    );
  });

  it('throws for another kind of limiter', () => {
    const busy = concurrencyLimit({ name: 'busy', limit: 5 });
    expect(() => createLimiter(busy as StoredLimiter)).toThrow(
      expect.objectContaining({
        code: 'SPW_OPTION_INVALID',
        message: expect.stringMatching(/rateLimit/),
      }),
    );
  });
});
