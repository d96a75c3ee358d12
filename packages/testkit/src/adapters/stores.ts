import type { Decision, Fault, GuardOptions, Limiter } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { expect, it } from 'vitest';
import { until } from '../index.js';
import { brokenStore, SlowStore } from '../stores.js';
import { type Driver, serveLimit } from './driver.js';

const one = (name: string) => ({ name, limit: 1, window: '1h' }) as const;

const fails = (): never => {
  throw new Error('not mine');
};

export function stores<Guard>(driver: Driver<Guard>): void {
  it('waits for a store that answers later', async () => {
    const store = remoteStore(new SlowStore());
    const { get } = await serveLimit(driver, one('later'), { store, storeTimeout: '10s' });
    const statuses: number[] = [];
    for (const _ of [1, 2]) {
      const reply = get();
      await until(() => store.calls.length > statuses.length);
      store.answer();
      statuses.push((await reply).status);
    }
    expect(statuses).toEqual([200, 429]);
  });

  it.each<[NonNullable<GuardOptions['onStoreError']>, number[]]>([
    ['allow', [200, 200]],
    ['deny', [503, 503]],
    ['local', [200, 429]],
  ])('answers by %s when the store fails', async (onStoreError, statuses) => {
    const faults: Fault[] = [];
    const decisions: Decision[] = [];
    const { get } = await serveLimit(driver, one('broken'), {
      store: { ...brokenStore },
      onStoreError,
      onFault: (fault) => faults.push(fault),
      onDecision: (decision) => decisions.push(decision),
    });
    expect([(await get()).status, (await get()).status]).toEqual(statuses);
    expect(decisions.map((decision) => decision.outcome)).toEqual(['error', 'error']);
    expect(faults.map(({ source }) => source)).toEqual(['store', 'store']);
  });

  it('tells clients no numbers that it does not know', async () => {
    const options = { store: { ...brokenStore }, onStoreError: 'deny', logger: false } as const;
    const { get } = await serveLimit(driver, one('deny'), options);
    const { headers, body } = await get();
    expect(headers['ratelimit']).toBeUndefined();
    expect(headers['retry-after']).toBe('1');
    expect(JSON.parse(body)).toMatchObject({ status: 503, title: 'Temporarily reduced capacity' });
  });

  it('answers after the timeout when the store does not', async () => {
    const options = {
      store: remoteStore(new SlowStore()),
      storeTimeout: '20ms',
      logger: false,
    } as const;
    const { get } = await serveLimit(driver, one('stuck'), options);
    const start = performance.now();
    expect((await get()).status).toBe(200);
    const tookMs = performance.now() - start;
    expect(tookMs).toBeGreaterThan(15);
    expect(tookMs).toBeLessThan(1_000);
  });

  const lie = {
    allowed: false,
    limiter: 'a\r\nX-Evil: 1',
    reason: 'rate',
    remaining: 0,
    policy: {},
  };
  it.each<[string, () => Limiter]>([
    ['throws', () => ({ kind: 'local', name: 'theirs', mode: 'enforce', decide: fails })],
    [
      'throws before the store',
      () => ({ ...driver.rateLimit(one('theirs')), named: true, step: fails }) as never,
    ],
    [
      'lies',
      () => ({ kind: 'local', name: 'theirs', mode: 'enforce', decide: () => lie as never }),
    ],
  ])('lets a request pass when a limiter of somebody else %s', async (_, limiter) => {
    const faults: Fault[] = [];
    const guard = driver.guard(limiter(), { onFault: (fault) => faults.push(fault) });
    const { get } = await driver.serve({ guards: [guard] });
    const { status, headers } = await get();
    expect(status).toBe(200);
    expect(headers['x-evil']).toBeUndefined();
    expect(faults).toHaveLength(1);
  });

  it('keeps the words of an observer that throws to itself', async () => {
    const callbacks = { onDecision: fails, onFault: fails, skip: fails };
    const { get } = await serveLimit(driver, one('observed'), callbacks);
    expect([(await get()).status, (await get()).status]).toEqual([200, 429]);
  });
}
