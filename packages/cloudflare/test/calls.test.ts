/**
 * How the store handles errors of the platform and wrong options. The namespaces here fail in ways that workerd can't
 * be made to.
 */

import { durableObjectStore, type ObjectNamespace } from '@spillway/cloudflare';
import type { Step } from '@spillway/core';
import { makeLeasesRule, makeRule } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';

const rule = makeRule('token-bucket', 5, 60_000_000);
const take: Step = { op: 'take', limiter: 'api', key: 'ada', rule, cost: 1, binding: true };
const look: Step = { ...take, op: 'look' };
const lease = { id: 'a', critical: false };
const release: Step = { ...take, op: 'put', rule: makeLeasesRule(5, 1_000_000), lease };
const refund: Step = { ...take, op: 'put', receipt: { atUs: 1, num: 0, units: 1 } };

/** Every call fails with an error that has these properties. */
function failing(marks: object) {
  const calls: string[] = [];
  const namespace: ObjectNamespace = {
    idFromName: (name) => ({ name }),
    get: () => ({
      fetch: async (_, { body }) => {
        calls.push(body);
        throw Object.assign(new Error('of the platform'), marks);
      },
    }),
  };
  return { calls, store: durableObjectStore(namespace) };
}

describe('a call that the platform has lost', () => {
  it.each([
    ['a look', look, 2],
    ['a release', release, 2],
    ['a take', take, 1],
    ['a refund', refund, 1],
  ])('%s is sent %s', async (_, step, times) => {
    const { calls, store } = failing({ retryable: true });
    await expect(store.apply([step as Step])).rejects.toMatchObject({
      code: 'SPW_STORE_UNAVAILABLE',
      kind: 'connection',
    });
    expect(calls).toHaveLength(times as number);
  });

  it('is not sent again to an object that is overloaded, nor one that failed by itself', async () => {
    for (const [marks, kind] of [
      [{ retryable: true, overloaded: true }, 'overloaded'],
      [{ remote: true }, 'object'],
    ] as const) {
      const { calls, store } = failing(marks);
      await expect(store.apply([look])).rejects.toMatchObject({ kind });
      expect(calls).toHaveLength(1);
    }
  });

  it('says nothing of keys', async () => {
    const { calls, store } = failing({});
    await expect(store.apply([take])).rejects.not.toThrow(/ada/);
    expect(calls.join()).not.toContain('ada');
    expect(store.domainOf?.(take)).toMatch(/^[0-9a-f]{32}$/);
  });

  it('is not made after its deadline, unless it only ends something', async () => {
    const { calls, store } = failing({});
    await expect(store.apply([take], { deadlineUs: 1 })).rejects.toMatchObject({
      code: 'SPW_STORE_TIMEOUT',
    });
    expect(calls).toEqual([]);
    await expect(store.apply([release], { deadlineUs: 1 })).rejects.toMatchObject({
      kind: 'connection',
    });
    expect(calls).toHaveLength(1);
  });
});

describe('the names of objects', () => {
  const namesWith = (hashKeys?: string | Uint8Array) => {
    const store = durableObjectStore(
      { idFromName: () => ({}), get: () => ({}) as never },
      { hashKeys },
    );
    return (key: string) => store.domainOf?.({ ...take, key });
  };

  it('differ for keys that differ in anything, and with the secret', () => {
    const keys = ['ada', 'Ada', '', 'a\u0000', 'a', '\ud800', '\udbff', '\ufffd', '%-', '{ada}'];
    const names = [undefined, 'secret', 'Secret'].flatMap((secret) => keys.map(namesWith(secret)));
    expect(new Set(names).size).toBe(names.length);
    expect(namesWith('secret')('ada')).toBe(namesWith(new TextEncoder().encode('secret'))('ada'));
  });
});

describe('wrong options', () => {
  const namespace: ObjectNamespace = { idFromName: () => ({}), get: () => ({}) as never };
  it.each([
    ['no binding', undefined, {}, 'env.LIMITS, got undefined'],
    ['another binding', { limit: () => undefined }, {}, 'a binding to RateLimitObject'],
    ['an empty secret', namespace, { hashKeys: '' }, 'hashKeys must be a secret'],
    ['a secret of another kind', namespace, { hashKeys: 12345 }, 'got "number"'],
    ['a place that is none', namespace, { locationHint: 5 }, 'locationHint must be'],
    ['an unknown option', namespace, { hashkeys: 'x' }, 'hashKeys'],
  ])('%s', (_, given, options, message) => {
    expect(() => durableObjectStore(given as never, options as never)).toThrow(message);
  });
});
