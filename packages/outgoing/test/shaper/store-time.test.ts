/** What a process learns of the store's clock: it never takes an instant of the store as past too early. */

import { describe, expect, it } from 'vitest';
import { StoreTime } from '../../src/shaper/store-time.js';

const S = 1_000_000;

describe('the clock of a store that answers later', () => {
  it('is known by the fastest answer', () => {
    const time = new StoreTime(false);
    time.learn(100 * S, 90 * S - 1_000, 90 * S + 40_000);
    time.learn(101 * S, 91 * S - 1_000, 91 * S + 3_000);
    time.learn(102 * S, 92 * S - 5_000, 92 * S + 70_000);
    expect(time.offsetUs).toBe(10 * S - 3_000);
  });

  it('is known by answers of the last ten to twenty seconds, for clocks drift', () => {
    const time = new StoreTime(false);
    time.learn(100 * S, 90 * S - 1_000, 90 * S);
    const learn = (s: number) =>
      time.learn((100 + s) * S - 500, (90 + s) * S - 1_000, (90 + s) * S);
    for (let s = 1; s <= 10; s += 1) learn(s);
    expect(time.offsetUs).toBe(10 * S);
    for (let s = 11; s <= 22; s += 1) learn(s);
    expect(time.offsetUs).toBe(10 * S - 500);
  });

  it('is learnt anew when it was set back', () => {
    const time = new StoreTime(false);
    time.learn(100 * S, 90 * S - 1_000, 90 * S);
    time.learn(50 * S, 91 * S - 1_000, 91 * S);
    expect(time.offsetUs).toBe(-41 * S);
  });

  it('is learnt anew by the first answer that it cannot have given before, however little it was set back', () => {
    const time = new StoreTime(false);
    time.learn(100 * S, 90 * S - 1_000, 90 * S);
    time.learn(101 * S - 3_000, 91 * S - 2_000, 91 * S);
    expect(time.offsetUs).toBe(10 * S - 3_000);
  });

  it('is not known by an answer of long ago', () => {
    const time = new StoreTime(false);
    time.learn(100 * S, 90 * S - 1_000, 90 * S);
    time.learn(160 * S - 500, 150 * S - 1_000, 150 * S);
    expect(time.offsetUs).toBe(10 * S - 500);
  });
});

it('the clock of a store that answers at once is known by every answer', () => {
  const time = new StoreTime(true);
  time.learn(100 * S, 90 * S, 90 * S);
  time.learn(101 * S - 7, 91 * S, 91 * S);
  expect(time.offsetUs).toBe(10 * S - 7);
});
