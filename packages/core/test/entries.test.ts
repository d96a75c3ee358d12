/** Units by instant: the same as in a plain list, but without walking it. */

import { describe, expect, it } from 'vitest';
import { Entries } from '../src/algorithms/log/log-entries.js';
import { PlainLog } from './memory/plain-log.js';
import { pick, seeded } from './net/random.js';

const ACTS = ['add', 'add', 'add', 'add', 'absorb', 'takeBack', 'takeBack', 'drop'] as const;

describe('entries', () => {
  it.each(Array.from({ length: 40 }, (_, i) => i))(
    'tell what a plain list would (seed %i)',
    (seed) => {
      const random = seeded(seed);
      const entries = new Entries();
      const plain = new PlainLog();
      let us = 0;
      for (let i = 0; i < 500; i += 1) {
        us += random(4);
        const act = pick(random, ACTS);
        const units = seed % 2 === 0 ? 1 : 1 + random(9);
        const someUs = us - random(1 + random(80));
        if (act === 'add') {
          entries.add(us, units);
          plain.add(us, units);
        } else if (act === 'absorb' && plain.total > 0) {
          entries.absorb(us, units);
          plain.absorb(us, units);
        } else if (act === 'takeBack') {
          expect(entries.takeBack(someUs, units)).toBe(plain.takeBack(someUs, units));
        } else if (act === 'drop') {
          entries.drop(units);
          plain.drop(units);
        }
        expect(entries.total).toBe(plain.total);
        expect(entries.lastUs).toBe(plain.lastUs);
        expect(entries.unitsUntil(someUs)).toBe(plain.unitsUntil(someUs));
        const unit = random(plain.total + 1);
        if (unit > 0) expect(entries.instantOf(unit)).toBe(plain.instantOf(unit));
        expect(entries.count).toBeGreaterThanOrEqual(plain.list.length);
        expect(entries.count).toBeLessThanOrEqual(Math.max(33, 4 * plain.list.length));
      }
    },
  );

  it('answer among 100,000 in about the time that they take among 100', () => {
    const timeOf = (count: number): number => {
      const entries = new Entries();
      for (let i = 1; i <= count; i += 1) entries.add(2 * i, 1);
      let best = Number.POSITIVE_INFINITY;
      for (let round = 0; round < 5; round += 1) {
        const start = performance.now();
        for (let i = 0; i < 1_000; i += 1) {
          const unit = 1 + ((i * 7919) % count);
          entries.unitsUntil(entries.instantOf(unit));
          entries.takeBack(2 * unit, 0);
        }
        best = Math.min(best, performance.now() - start);
      }
      return best;
    };
    timeOf(100); // to warm up
    // Walking would take a thousand times as long; the logarithm is 2.5 times as large, and caches miss.
    expect(timeOf(100_000) / timeOf(100)).toBeLessThan(50);
  });

  it('take back, drop and add among 100,000 in about the time that they take among 1,000', () => {
    const timeOf = (count: number): number => {
      const entries = new Entries();
      for (let i = 1; i <= count; i += 1) entries.add(i, 1);
      let next = count;
      let taken = 0;
      const start = performance.now();
      for (let i = 0; i < 20_000; i += 1) {
        taken += entries.takeBack(next - (count >> 1), 1);
        entries.drop(1);
        entries.add(++next, 1);
        entries.add(++next, 1);
      }
      const spent = performance.now() - start;
      expect(taken).toBeGreaterThan(5_000);
      return spent;
    };
    timeOf(1_000); // to warm up
    // Moving all of the numbers at each step would take a hundred times as long.
    const few = Math.min(timeOf(1_000), timeOf(1_000));
    expect(Math.min(timeOf(100_000), timeOf(100_000)) / few).toBeLessThan(30);
  });
});
