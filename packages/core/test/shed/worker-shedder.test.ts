import {
  createGuard,
  type LoopSignal,
  type Signal,
  type WorkerShedderOptions,
  workerShedder,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { seeded } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { request, StubSignal } from './stubs.js';

const priority = ({ path }: { path: string }): string => path.slice(1);

function waitOf({ wait }: LoopSignal): Signal {
  if (!wait) throw new Error('no wait');
  return wait;
}

function setUp(options: Partial<WorkerShedderOptions> = {}) {
  const clock = new ManualClock();
  const signal = new StubSignal('utilization');
  const wait = new StubSignal('wait');
  const random = seeded(1).uniform;
  const base = { name: 'workers', ladder: { signal }, brake: { signal: wait }, priority };
  const shedder = workerShedder({ ...base, clock, random, ...options });
  /** Passes one reading a second to both ladder and brake. */
  const load = (seconds: number, utilization: number, waits = 0): void => {
    for (let second = 0; second < seconds; second++) {
      clock.advance('1s');
      signal.measure(utilization, 1000);
      wait.measure(waits, 1000);
    }
  };
  /** How many of a thousand requests are rejected. */
  const refused = (path: string): number => {
    let count = 0;
    for (let i = 0; i < 1000; i++) if (!shedder.decide(request('GET', path)).allowed) count += 1;
    return count;
  };
  shedder.decide(request('GET', '/get'));
  return { clock, signal, wait, shedder, load, refused };
}

describe('a worker shedder', () => {
  it('passes everything at rest, saying so', () => {
    const { shedder, refused } = setUp();
    expect(shedder.decide(request('GET', '/get'))).toEqual({
      limiter: 'workers',
      allowed: true,
      outcome: 'allowed',
      reason: null,
      cost: 1,
      used: Number.NaN,
      remaining: Number.NaN,
      retryAfterMs: 0,
      resetMs: Number.NaN,
      priority: 'get',
    });
    expect(refused('/test')).toBe(0);
    expect(shedder).toMatchObject({ kind: 'local', shedAmount: 0, brakeFraction: 0 });
  });

  it('refuses for the ladder 28 s after full utilization began, the lowest class first', () => {
    const { shedder, load, refused } = setUp();
    load(28, 1);
    expect(refused('/test')).toBe(0);
    load(40, 1);
    expect(shedder.shedAmount).toBe(40 / 120);
    expect(refused('/test')).toBe(1000);
    expect(refused('/get')).toBe(0);
    load(20, 1); // half of the way through get: 500 of 1000, with a deviation of 16
    expect(Math.abs(refused('/get') - 500)).toBeLessThan(64);
    expect(refused('/post')).toBe(0);
    load(60, 1);
    expect(refused('/post')).toBe(1000);
    expect(refused('/critical')).toBe(0);
    expect(shedder.decide(request('GET', '/test'))).toMatchObject({
      allowed: false,
      outcome: 'denied',
      reason: 'overload',
      signal: 'utilization',
    });
  });

  it('refuses critical requests only in an opted-in last stage', () => {
    const { load, refused } = setUp({ shedCritical: true });
    load(28 + 90, 1);
    expect([refused('/post'), refused('/critical')]).toEqual([1000, 0]);
    load(30, 1);
    expect(refused('/critical')).toBe(1000);
  });

  it('refuses for the brake within seconds, and names its signal', () => {
    const { shedder, load, refused } = setUp();
    refused('/get');
    load(2, 0.5, 3);
    expect(shedder.shedAmount).toBe(0);
    expect(shedder.brakeFraction).toBeGreaterThan(0.5);
    expect(shedder.decide(request('GET', '/test'))).toMatchObject({ signal: 'wait' });
    expect(refused('/critical')).toBe(0);
  });

  it('leaves to the brake what it can hold, where both look at one signal', () => {
    const both = (waits: number) => {
      const clock = new ManualClock();
      const wait = new StubSignal('wait');
      const signal = Object.assign(new StubSignal('utilization'), { wait });
      const shedder = workerShedder({ name: 'workers', signal, priority, clock });
      shedder.decide(request('GET', '/get'));
      for (let second = 0; second < 148; second++) {
        clock.advance('1s');
        wait.measure(waits, 1000);
        signal.measure(1, 1000);
      }
      return shedder.shedAmount;
    };
    expect(both(1)).toBe(0);
    expect(both(1.1)).toBeGreaterThan(0); // half a minute later it rejects all that it can
    expect(both(9)).toBeGreaterThan(0.9);
  });

  it.each<[string, (signal: LoopSignal, other: Signal) => Partial<WorkerShedderOptions>, number]>([
    [
      'both written out',
      (signal) => ({ ladder: { signal }, brake: { signal: waitOf(signal) } }),
      0,
    ],
    ['the brake written out', (signal) => ({ signal, brake: { signal: waitOf(signal) } }), 0],
    ['a brake of its own', (signal, other) => ({ signal, brake: { signal: other } }), 1],
    ['a ladder of its own', (signal, other) => ({ signal, ladder: { signal: other } }), 1],
  ])(
    'leaves an overload to the brake if that reads the wait of its signal: %s',
    (_, options, amount) => {
      const clock = new ManualClock();
      const [wait, other] = [new StubSignal('wait'), new StubSignal('other')];
      const signal = Object.assign(new StubSignal('utilization'), { wait });
      const shedder = workerShedder({ name: 'workers', clock, ...options(signal, other) });
      shedder.decide(request('GET'));
      for (let second = 0; second < 150; second++) {
        clock.advance('1s');
        for (const one of [wait, other, signal]) one.measure(1, 1000);
      }
      expect(shedder.shedAmount).toBe(amount);
    },
  );

  it('falls while the brake holds what is left', () => {
    const clock = new ManualClock();
    const wait = new StubSignal('wait');
    const signal = Object.assign(new StubSignal('utilization'), { wait });
    const shedder = workerShedder({ name: 'workers', signal, clock });
    shedder.decide(request('GET'));
    const load = (utilization: number, waits: number): number => {
      for (let second = 0; second < 148; second++) {
        clock.advance('1s');
        wait.measure(waits, 1000);
        signal.measure(utilization, 1000);
      }
      return shedder.shedAmount;
    };
    expect(load(1, 9)).toBeGreaterThan(0.9);
    expect(load(0, 0)).toBe(0);
  });

  it('climbs where the brake has no readings', () => {
    const clock = new ManualClock();
    const wait: Signal = { name: 'silent', read: () => undefined };
    const signal = Object.assign(new StubSignal('utilization'), { wait });
    const shedder = workerShedder({ name: 'workers', signal, clock });
    shedder.decide(request('GET'));
    for (let second = 0; second < 148; second++) {
      clock.advance('1s');
      signal.measure(1, 1000);
    }
    expect(shedder.shedAmount).toBeGreaterThan(0.9);
  });

  it.each([
    [undefined, [1, 2]],
    ['1s', [1, 2]],
    ['1200ms', [2, 3]],
    ['1500ms', [2, 3]],
    ['3s', [3, 4, 5, 6]],
  ] as const)(
    'tells whole seconds from one to two hints, so that not all come back at once: %s',
    (retryAfter, seconds) => {
      const { shedder, load } = setUp({ retryAfter });
      load(148, 1);
      const waits = Array.from({ length: 400 }, () => {
        return shedder.decide(request('GET', '/test')).retryAfterMs / 1000;
      });
      expect([...new Set(waits)].sort()).toEqual(seconds);
    },
  );

  it('tells milliseconds from one to two hints below a second', () => {
    const { shedder, load } = setUp({ retryAfter: '100ms' });
    load(148, 1);
    const waits = Array.from({ length: 400 }, () => {
      return shedder.decide(request('GET', '/test')).retryAfterMs;
    });
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(100);
    expect(Math.max(...waits)).toBeLessThanOrEqual(200);
    expect(new Set(waits).size).toBeGreaterThan(50);
  });

  it('holds while its signals are silent or broken, then sheds nothing', () => {
    const { clock, signal, wait, load, refused } = setUp();
    load(148, 1, 3);
    for (const one of [signal, wait]) one.reading = { value: Number.NaN, ageMs: 0 };
    clock.advance('5s');
    expect(refused('/post')).toBe(1000);
    clock.advance('5s');
    expect(refused('/test')).toBe(0);
  });

  it('remembers what was before a measurement that came very late', () => {
    const { clock, signal, shedder, load } = setUp();
    load(88, 1);
    clock.advance('30s');
    expect(shedder.shedAmount).toBe(0);
    signal.measure(1, 30_000);
    expect(shedder.shedAmount).toBe(90 / 120);
  });

  it('asks a signal that cannot be watched at requests; one request a minute is no evidence', () => {
    const clock = new ManualClock();
    const signal: Signal = { name: 'own', read: () => ({ value: 1, ageMs: 0 }) };
    const shedder = workerShedder({ name: 'w', signal, brake: false, clock, random: () => 0 });
    for (let minute = 0; minute < 10; minute++) {
      expect(shedder.decide(request('GET')).allowed).toBe(true);
      clock.advance('1m');
    }
    shedder.decide(request('GET'));
    for (let second = 0; second < 150; second++) {
      clock.advance('1s');
      shedder.decide(request('GET'));
    }
    expect(shedder.shedAmount).toBe(1);
  });

  it('survives a signal that throws', () => {
    const fail = (): never => {
      throw new Error('broken');
    };
    const signal: Signal = { name: 'broken', read: fail, watch: fail };
    const shedder = workerShedder({ name: 'w', signal, brake: false });
    expect(shedder.decide(request('GET')).allowed).toBe(true);
  });

  it('makes a guard answer 503 with a hint, and no limits', () => {
    const { shedder, load } = setUp();
    load(148, 1);
    const admission = createGuard(shedder).admit(request('GET', '/test'));
    expect(admission).toMatchObject({ allowed: false, status: 503 });
    expect(admission).toHaveProperty('binding.signal', 'utilization');
    expect(admission).toHaveProperty('headers', [
      ['Retry-After', expect.any(String)],
      ['Cache-Control', 'no-store'],
      ['Content-Type', 'application/problem+json'],
    ]);
  });

  it('only says so in shadow mode', () => {
    const { shedder, load } = setUp({ mode: 'shadow' });
    load(148, 1);
    expect(createGuard(shedder).admit(request('GET', '/test'))).toMatchObject({
      allowed: true,
      decisions: [{ outcome: 'would-deny', reason: 'overload' }],
    });
  });

  it('draws from Math.random when it decides, not before', () => {
    const { load, shedder } = setUp({ random: undefined as never });
    load(148, 1);
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.75);
    expect(shedder.decide(request('GET', '/test')).retryAfterMs).toBe(2000);
    random.mockRestore();
  });
});
