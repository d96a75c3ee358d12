/** The rejection of a blocked key says that an operator has blocked it, and when the block ends. */

import {
  type Admission,
  concurrencyLimit,
  createGuard,
  type DecisionEvent,
  type GuardOptions,
  type Limiter,
  type LimitRequest,
  memoryControl,
  memoryStore,
  rateLimit,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';

const request: LimitRequest = {
  method: 'GET',
  path: '/',
  clientIp: '203.0.113.7',
  header: () => undefined,
  raw: undefined,
};
const note = { by: 'ada', because: 'scraping' } as const;
const api = (options: { mode?: 'shadow' } = {}) =>
  rateLimit({ name: 'api', limit: 1, window: '1h', key: 'eve', ...options });

function blocked(
  until: '10m' | '1s' | 'forever',
  limiters: Limiter | Limiter[] = api(),
  options: GuardOptions = {},
) {
  const clock = new ManualClock();
  const control = memoryControl({ clock });
  const events: DecisionEvent[] = [];
  const store = memoryStore({ clock });
  const onDecision = (event: DecisionEvent) => events.push(event);
  const guard = createGuard(limiters, { store, control, onDecision, ...options });
  control.block('api', 'eve', { ...note, for: until });
  const admit = () => {
    const admission = guard.admit(request) as Admission;
    const { status, body, headers } = admission;
    const retryAfter = new Map(headers).get('Retry-After');
    return { admission, status, retryAfter, problem: body ? JSON.parse(body) : undefined };
  };
  return { clock, events, admit };
}

const TYPE = 'https://github.com/spillway/spillway/blob/main/docs/errors.md#blocked';

describe('a blocked key', () => {
  it('is told when the block ends', () => {
    const { admit, clock } = blocked('10m');
    const { status, retryAfter, problem } = admit();
    expect({ status, retryAfter }).toEqual({ status: 403, retryAfter: '600' });
    expect(problem).toEqual({
      type: TYPE,
      title: 'Blocked',
      status: 403,
      detail: 'Your requests are blocked under policy "api". Try again in 600 seconds.',
      'violated-policies': ['api'],
    });
    clock.advance('10m');
    expect(admit().status).toBe(200);
  });

  it('is not told to wait, nor to make its request smaller, where the block has no end', () => {
    const { status, retryAfter, problem } = blocked('forever').admit();
    expect({ status, retryAfter }).toEqual({ status: 403, retryAfter: undefined });
    expect(problem.detail).toBe(
      'Your requests are blocked under policy "api". Waiting does not help.',
    );
  });

  it('is answered 429 where the guard says so', () => {
    const { status, problem } = blocked('10m', api(), { blockedStatus: 429 }).admit();
    expect({ status, inBody: problem.status, type: problem.type }).toEqual({
      status: 429,
      inBody: 429,
      type: TYPE,
    });
    const options = { blockedStatus: 401 as 403 };
    expect(() => createGuard(api(), options)).toThrow('blockedStatus must be 403 or 429, got 401');
  });

  it('passes in shadow, which says would-deny and why', () => {
    const { admit, events } = blocked('10m', api({ mode: 'shadow' }));
    expect(admit().status).toBe(200);
    expect(events).toMatchObject([{ outcome: 'would-deny', reason: 'blocked' }]);
  });

  it('is answered for before an overload of ours, and after a limit that waits longer', () => {
    const other = (reason: 'overload' | 'rate', retryAfterMs: number): Limiter => {
      const decide = () => decision(reason, retryAfterMs);
      return { kind: 'local', name: 'other', mode: 'enforce', decide };
    };
    expect(blocked('1s', [other('overload', 1_500), api()]).admit().status).toBe(403);
    const longer = other('rate', 60_000);
    expect(blocked('1s', [longer, api()]).admit()).toMatchObject({ status: 429, retryAfter: '60' });
    expect(blocked('forever', [longer, api()]).admit()).toMatchObject({ status: 403 });
  });

  it('is refused by a concurrency limit in the same words', () => {
    const atOnce = concurrencyLimit({ name: 'api', limit: 5, key: 'eve' });
    expect(blocked('10m', atOnce).admit().problem.title).toBe('Blocked');
  });
});

function decision(reason: 'overload' | 'rate', retryAfterMs: number) {
  return {
    limiter: 'other',
    allowed: false,
    outcome: 'denied',
    reason,
    cost: 1,
    used: Number.NaN,
    remaining: 0,
    retryAfterMs,
    resetMs: Number.NaN,
  } as const;
}
