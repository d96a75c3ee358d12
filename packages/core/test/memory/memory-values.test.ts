/** Values in memory: separate by name, for a limited time, within a budget of bytes. */

import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/index.js';
import { MAX_VALUE_BYTES, type ValueName } from '../../src/store.js';
import { ManualClock } from '../../src/testing.js';

const MINUTE_US = 60_000_000;
const name = (id: string, key = 'ada'): ValueName => ({ limiter: 'once', key, id });
const bytes = (length: number, fill = 7) => new Uint8Array(length).fill(fill);

/** A store with room for this many values of 872 bytes. */
function roomFor(values: number) {
  const size = 872 + 2 * `4 3 onceada${'0'}`.length + 128;
  return memoryStore({ valueBytes: values * size });
}

describe('values in memory', () => {
  it('end at their time, by the clock of the store', () => {
    const clock = new ManualClock();
    const { values } = memoryStore({ clock });
    values.set(name('a'), bytes(3), MINUTE_US);
    clock.setUs(clock.nowUs() + MINUTE_US - 1);
    expect(values.get(name('a'))).toEqual(bytes(3));
    clock.setUs(clock.nowUs() + 1);
    expect(values.get(name('a'))).toBeUndefined();
  });

  it('are copies in both directions', () => {
    const { values } = memoryStore();
    const given = bytes(2);
    values.set(name('a'), given, MINUTE_US);
    given[0] = 1;
    const got = values.get(name('a')) as Uint8Array;
    got[1] = 1;
    expect(values.get(name('a'))).toEqual(bytes(2));
  });

  it('make room, the oldest first', () => {
    const store = roomFor(3);
    for (const id of ['1', '2', '3', '4']) store.values.set(name(id), bytes(872), MINUTE_US);
    const left = ['1', '2', '3', '4'].filter((id) => store.values.get(name(id)));
    expect(left).toEqual(['2', '3', '4']);
  });

  it('are as new as their last writing', () => {
    const store = roomFor(2);
    for (const id of ['1', '2', '1', '3']) store.values.set(name(id), bytes(872), MINUTE_US);
    expect(store.values.get(name('1'))).toEqual(bytes(872));
    expect(store.values.get(name('2'))).toBeUndefined();
  });

  it('count their names, so that many empty ones have no room either', () => {
    const store = roomFor(2);
    for (let id = 0; id < 1_000; id += 1) store.values.set(name(`${id}`), bytes(0), MINUTE_US);
    const left = Array.from({ length: 1_000 }, (_, id) => store.values.get(name(`${id}`)));
    expect(left.filter(Boolean).length).toBeLessThan(20);
  });

  it('say so when one alone has no room, and keep the others', () => {
    const store = roomFor(1);
    store.values.set(name('1'), bytes(872), MINUTE_US);
    expect(() => store.values.set(name('2'), bytes(3_000), MINUTE_US)).toThrowError(
      expect.objectContaining({ code: 'SPW_STORE_ERROR', kind: 'full' }),
    );
    expect(store.values.get(name('1'))).toEqual(bytes(872));
  });

  it('are kept apart by limiter, key and id, whatever is in them', () => {
    const { values } = memoryStore();
    const names = [
      { limiter: 'a', key: 'b', id: 'c' },
      { limiter: 'ab', key: '', id: 'c' },
      { limiter: 'a', key: 'bc', id: '' },
      { limiter: 'a', key: 'b', id: '1 c' },
    ];
    for (const [at, each] of names.entries()) values.set(each, bytes(1, at), MINUTE_US);
    for (const [at, each] of names.entries()) expect(values.get(each)).toEqual(bytes(1, at));
  });

  it.each([
    ['a text', 'body' as unknown as Uint8Array, 1],
    ['more than a mebibyte', new Uint8Array(MAX_VALUE_BYTES + 1), 1],
    ['no time', bytes(1), 0],
    ['part of a microsecond', bytes(1), 1.5],
    ['a time without an end', bytes(1), Infinity],
  ])('refuse %s', (_, value, ttlUs) => {
    const { values } = memoryStore();
    expect(() => values.set(name('a'), value, ttlUs)).toThrowError(
      expect.objectContaining({ code: 'SPW_VALUE_INVALID' }),
    );
  });

  it.each([0, -1, 1.5, Number.NaN, 2 ** 41])('have no budget of %s bytes', (valueBytes) => {
    expect(() => memoryStore({ valueBytes })).toThrowError(/valueBytes must be/);
  });
});
