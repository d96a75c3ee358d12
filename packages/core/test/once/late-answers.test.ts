/** Responses that could not be stored: they wait, within bounds, and are written again. */

import { SpillwayError } from '@spillway/core';
import { remoteStore, type ValueName } from '@spillway/core/store';
import { fakeTime } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { OnceStore, setUp } from './gate-set-up.js';

const LEASE_MS = 30_000;

/** A store whose values fail independently of its counts, and which records each attempt to write one. */
function withValues(options: Parameters<typeof setUp>[0] = {}) {
  const store = remoteStore(new OnceStore());
  const { values } = store.memory;
  const tries: string[] = [];
  let fail: (() => unknown) | undefined;
  const set = async (name: ValueName, ...rest: [Uint8Array, number]) => {
    tries.push(name.key);
    await fail?.();
    values.set(name, ...rest);
  };
  Object.assign(store, { values: { get: values.get.bind(values), set } });
  const world = setUp({ maxBody: 1_000_000, ...options }, store);
  const answer = async (key: string, text: string) => {
    const call = await world.send(key);
    call.end(text);
    await call.close();
  };
  const setFailing = (failing: typeof fail): void => {
    fail = failing;
  };
  return { ...world, tries, answer, setFailing };
}

const down = () => Promise.reject(new Error('down'));
const hang = () => new Promise(() => undefined);
const givenUp = (faults: readonly { readonly error: unknown }[]): number =>
  faults.filter(({ error }) => String(error).includes('was dropped')).length;

describe('an answer that the store did not take', () => {
  fakeTime();

  it('is written again as soon as its claim is marked', async () => {
    const { send, answer, tries, setFailing } = withValues();
    setFailing(() => {
      setFailing(undefined);
      return down();
    });
    await answer('key-1', 'done');
    await vi.advanceTimersByTimeAsync(0);
    expect([(await send('key-1')).text, tries.length]).toEqual(['done', 2]);
  });

  it('is written again, at least every 5 s, until the store takes it', async () => {
    const { send, answer, setFailing, faults } = withValues();
    setFailing(down);
    await answer('key-1', 'done');
    await vi.advanceTimersByTimeAsync(5 * LEASE_MS);
    expect((await send('key-1')).refusal?.binding).toMatchObject({ reason: 'not-kept' });
    setFailing(undefined);
    await vi.advanceTimersByTimeAsync(6_000);
    expect((await send('key-1')).text).toBe('done');
    expect(givenUp(faults)).toBe(0);
  });

  it('is written before its claim is marked, where that failed too', async () => {
    const { store, send, answer, setFailing } = withValues();
    setFailing(down);
    store.fails = (op) => op === 'done';
    await answer('key-1', 'done');
    await vi.advanceTimersByTimeAsync(LEASE_MS / 2);
    setFailing(undefined);
    store.fails = () => false;
    let call = await send('key-1');
    while (call.refusal?.binding?.reason === 'running') {
      await vi.advanceTimersByTimeAsync(100);
      call = await send('key-1');
    }
    expect(call.text).toBe('done'); // and never 409 because it was not stored
  });

  it('is given up, and told, after ten leases, or when the claim has ended', async () => {
    for (const keep of ['1d', '40s'] as const) {
      const { answer, setFailing, faults, tries } = withValues({ keep });
      setFailing(down);
      await answer('key-1', 'done');
      await vi.advanceTimersByTimeAsync((keep === '1d' ? 10.5 : 2) * LEASE_MS);
      expect([keep, givenUp(faults)]).toEqual([keep, 1]);
      const { length } = tries;
      setFailing(undefined);
      await vi.advanceTimersByTimeAsync(2 * LEASE_MS);
      expect(tries).toHaveLength(length);
    }
  });

  it('is kept no longer than its claim, though it was written late', async () => {
    const { store, answer, setFailing } = withValues({ keep: '10m' });
    setFailing(down);
    await answer('key-1', 'done');
    await vi.advanceTimersByTimeAsync(240_000);
    setFailing(undefined);
    const ttls: number[] = [];
    const { values } = store.memory;
    vi.spyOn(values, 'set').mockImplementation((_name, _bytes, ttlUs) => void ttls.push(ttlUs));
    await vi.advanceTimersByTimeAsync(6_000);
    expect(ttls).toHaveLength(1);
    expect(ttls[0]).toBeLessThanOrEqual((600 - 240 + 60) * 1_000_000);
  });

  it('is not tried again if no store would take it', async () => {
    const { answer, setFailing, tries } = withValues();
    setFailing(() => Promise.reject(new SpillwayError('SPW_VALUE_INVALID', 'too long')));
    await answer('key-1', 'done');
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    expect(tries).toHaveLength(1);
  });

  it('waits in 16 MiB at most: what has no room is told, and its claim is marked all the same', async () => {
    const { send, answer, setFailing, faults } = withValues();
    setFailing(down);
    const keys = Array.from({ length: 20 }, (_, at) => `key-${at}`);
    for (const key of keys) await answer(key, 'x'.repeat(1_000_000));
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    expect(givenUp(faults)).toBe(4);
    setFailing(undefined);
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    const texts = await Promise.all(keys.map(async (key) => (await send(key)).text));
    expect(texts.filter((text) => text.length === 1_000_000)).toHaveLength(16);
    expect(texts.filter((text) => text === '409')).toHaveLength(4);
    // The memory is free again.
    setFailing(down);
    for (let at = 0; at < 16; at += 1) await answer(`again-${at}`, 'x'.repeat(1_000_000));
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    expect(givenUp(faults)).toBe(4);
  });

  it('is not one of many that a store gets while it hangs', async () => {
    const { answer, setFailing, tries } = withValues();
    setFailing(down);
    for (let at = 0; at < 100; at += 1) await answer(`key-${at}`, 'done');
    setFailing(hang);
    await vi.advanceTimersByTimeAsync(1_000);
    tries.length = 0;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(tries.length).toBeGreaterThan(4);
    expect(tries.length).toBeLessThanOrEqual(4 * 13);
  });

  it('is forgotten if it could not be sent, and another answer was', async () => {
    const { send, setFailing } = withValues({ keepFirst: true });
    const call = await send('key-1');
    setFailing(down);
    call.end('first');
    await vi.advanceTimersByTimeAsync(100);
    call.takeBack();
    setFailing(undefined);
    call.end('second');
    await call.close();
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    expect((await send('key-1')).text).toBe('second');
  });

  it('is written when the guard is closed', async () => {
    const { gate, send, answer, setFailing } = withValues();
    setFailing(down);
    await answer('key-1', 'done');
    await vi.advanceTimersByTimeAsync(2_000);
    setFailing(undefined);
    const closed = gate.close();
    await vi.advanceTimersByTimeAsync(100);
    await closed;
    expect((await send('key-1')).text).toBe('done');
  });
});
