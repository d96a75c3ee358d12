import { seeded } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { EventLoop } from './event-loop.js';

describe('the modelled event loop', () => {
  it('runs events in the order of their time, and equal ones as they came', () => {
    const loop = new EventLoop();
    const seen: number[] = [];
    const random = seeded(3);
    for (let i = 0; i < 500; i++) {
      const atMs = Math.floor(random.uniform() * 50);
      loop.at(atMs, () => seen.push(atMs * 1000 + i));
    }
    loop.runUntil(100);
    expect(seen).toHaveLength(500);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
  });

  it('runs one task at a time, first come first served, and counts how long it is busy', () => {
    const loop = new EventLoop();
    const ends: [string, number][] = [];
    const task = (name: string, busyMs: number) => () => ({
      busyMs,
      after: () => ends.push([name, loop.nowMs]),
    });
    loop.at(0, () => loop.enqueue(task('a', 10)));
    loop.at(2, () => loop.enqueue(task('b', 1)));
    loop.at(1, () => loop.enqueue(task('c', 5)));
    loop.at(30, () => loop.enqueue(task('d', 1)));
    loop.runUntil(100);
    expect(ends).toEqual([
      ['a', 10],
      ['c', 15],
      ['b', 16],
      ['d', 31],
    ]);
    expect(loop.busyMs).toBe(17);
  });

  it('makes timers late while it is busy', () => {
    const loop = new EventLoop();
    const fired: number[] = [];
    loop.every(20, 0, () => fired.push(loop.nowMs));
    loop.at(30, () => loop.enqueue(() => ({ busyMs: 100 })));
    loop.runUntil(160);
    expect(fired).toEqual([20, 130, 150]);
  });

  it('accepts one connection in each turn, and reads its request in the next', () => {
    const loop = new EventLoop();
    const seen: string[] = [];
    const task = (name: string) => () => ({ busyMs: 1, after: () => seen.push(name) });
    loop.at(0, () => loop.enqueue(task('kept 1')));
    for (const name of ['new 1', 'new 2', 'new 3']) loop.at(0.1, () => loop.connect(task(name)));
    for (const name of ['kept 2', 'kept 3']) loop.at(0.2, () => loop.enqueue(task(name)));
    loop.runUntil(100);
    expect(seen).toEqual(['kept 1', 'kept 2', 'kept 3', 'new 1', 'new 2', 'new 3']);
    expect(loop.times().accepted).toBe(3);
  });

  it('has no place for more connections than the kernel keeps', () => {
    const loop = new EventLoop();
    loop.at(0, () => loop.enqueue(() => ({ busyMs: 1000 })));
    const kept: boolean[] = [];
    loop.at(1, () => {
      for (let i = 0; i < 512; i++) kept.push(loop.connect(() => ({ busyMs: 1 })));
    });
    loop.runUntil(2);
    expect(kept.filter(Boolean)).toHaveLength(511);
  });

  it('shares its processor: work waits for its part of the period, active once it has begun', () => {
    const loop = new EventLoop({ everyMs: 10, ownMs: 4 });
    const seen: [string, number, number][] = [];
    const task = (name: string, busyMs: number) => () => ({
      busyMs,
      after: () => seen.push([name, loop.nowMs, loop.times().active]),
    });
    loop.at(1, () => loop.enqueue(task('fits', 2)));
    loop.at(5, () => loop.enqueue(task('sleeps until its turn', 1)));
    loop.at(12, () => loop.enqueue(task('is put off twice', 7)));
    loop.runUntil(50);
    expect(seen).toEqual([
      ['fits', 3, 2],
      ['sleeps until its turn', 11, 3],
      ['is put off twice', 31, 22],
    ]);
    expect(loop.times()).toMatchObject({ active: 22, idle: 28, cpu: 10 });
  });

  it('queues as the theory of M/M/1 says: at 0.7 load, seven thirds are in the system', () => {
    const loop = new EventLoop();
    const random = seeded(11);
    let present = 0;
    let area = 0;
    let sinceMs = 0;
    const change = (by: number): void => {
      area += present * (loop.nowMs - sinceMs);
      sinceMs = loop.nowMs;
      present += by;
    };
    const next = (): void =>
      loop.at(loop.nowMs + random.exponential(1 / 0.7), () => {
        change(1);
        loop.enqueue(() => ({ busyMs: random.exponential(1), after: () => change(-1) }));
        next();
      });
    next();
    loop.runUntil(300_000);
    expect(loop.busyMs / 300_000).toBeCloseTo(0.7, 1);
    expect(Math.abs(area / 300_000 - 7 / 3)).toBeLessThan(0.15);
  });
});
