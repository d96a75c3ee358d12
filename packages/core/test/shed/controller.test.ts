import { describe, expect, it } from 'vitest';
import { advanceController, holds, Mix, restingController } from '../../src/shed/brake.js';

const TICK = 100_000;

function after(ticks: number, value: number, from = restingController(0)) {
  let state = from;
  for (let tick = 1; tick <= ticks; tick++) {
    state = advanceController(state, { value, ageMs: 0 }, from.atUs + tick * TICK);
  }
  return state;
}

describe('the controller', () => {
  it('refuses nothing while the wait is under its mark', () => {
    expect(after(1000, 0.9).fraction).toBe(0);
    expect(after(1000, 1).fraction).toBe(0);
  });

  it('refuses almost everything within a second and a half of a wait far above it, never all', () => {
    expect(after(5, 100).fraction).toBeCloseTo(0.7, 9);
    expect(after(15, 100).fraction).toBe(0.97);
    expect(after(1000, 100).fraction).toBe(0.97);
  });

  it('is not wound up by a long overload: it lets go as fast as after a short one', () => {
    const [long, short] = [after(10_000, 100), after(60, 100)];
    expect(after(10, 0, long).fraction).toBeCloseTo(0.145, 9);
    expect(after(10, 0, long).fraction).toBe(after(10, 0, short).fraction);
    expect(after(45, 0, long).fraction).toBe(0);
  });

  it('grows and falls fast far from the mark, and slowly near it', () => {
    expect(after(1, 1.5).integral).toBeCloseTo(0.005, 9);
    expect(after(1, 2).integral).toBeCloseTo(0.01, 9);
    expect(after(1, 2.5).integral).toBeCloseTo(0.0225, 9);
    expect(after(1, 100).integral).toBeCloseTo(0.04, 9);
    const { integral } = after(10, 2);
    expect(after(1, 0.5, after(10, 2)).integral).toBeCloseTo(integral - 0.01 * 2.25 * 0.25, 9);
    expect(after(1, 0, after(10, 2)).integral).toBeCloseTo(integral - 0.0225, 9);
    expect(after(1, 0.6, after(10, 2)).integral).toBeCloseTo(integral - 0.004, 9);
  });

  it('comes back to half when a wait far above the mark has gone, however long it refused all that it could', () => {
    const long = after(1000, 100);
    expect(long.fraction).toBe(0.97);
    expect(after(1, 1, long).fraction).toBeCloseTo(0.47, 9);
  });

  it('refuses almost everything of a wait that stays a little above the mark, too', () => {
    expect(after(1000, 1.5).fraction).toBe(0.97);
  });

  it.each([0, 25, 99])('works on after a silence, if each reading spans %i ms', (spanMs) => {
    let state = restingController(0);
    for (let tick = 0; tick < 100; tick += 1) {
      state = advanceController(state, { value: 100, ageMs: 0, spanMs }, 9_000_000 + tick * TICK);
    }
    expect(state.fraction).toBe(0.97);
  });

  it('forgets nothing of a long overload when the wait jumps', () => {
    const long = after(1000, 1.5);
    expect(after(1, 100, long).integral).toBe(long.integral);
  });

  it('answers to a wait above the mark more than to one as far below it', () => {
    const held = after(20, 2);
    const above = after(1, 1.5, held).fraction - held.integral;
    const below = held.integral - after(1, 0.5, held).fraction;
    expect(above).toBeGreaterThan(2 * below);
  });

  it('holds the load while it knows of it and can refuse more', () => {
    const busy = after(10, 3);
    expect(holds(busy, busy.atUs)).toBe(true);
    expect(holds(busy, busy.atUs + 9_000_000)).toBe(false); // silent
    const full = after(1000, 100);
    expect(holds(full, full.atUs)).toBe(false);
  });

  it('takes a reading into account once a tick, and a late one for all its time', () => {
    const state = restingController(0);
    expect(advanceController(state, { value: 9, ageMs: 0 }, TICK - 1)).toBe(state);
    const late = advanceController(state, { value: 3, ageMs: 0, spanMs: 1000 }, 10 * TICK);
    expect(late.integral).toBeCloseTo(after(10, 3).integral, 9);
  });

  it('holds without readings, then refuses nothing', () => {
    const state = after(20, 3);
    expect(advanceController(state, undefined, state.atUs + 8_000_000)).toBe(state);
    expect(advanceController(state, undefined, state.atUs + 8_200_000).fraction).toBe(0);
  });
});

describe('a fraction of all traffic', () => {
  /** Ten requests of class test, forty get, thirty post, twenty critical. */
  function mix(): Mix {
    const all = new Mix(4);
    [10, 40, 30, 20].forEach((count, rank) => {
      for (let i = 0; i < count; i++) all.countRequest(rank, 0);
    });
    return all;
  }

  it.each([
    [0, [0, 0, 0, 0]],
    [0.05, [0.5, 0, 0, 0]],
    [0.1, [1, 0, 0, 0]],
    [0.3, [1, 0.5, 0, 0]],
    [0.65, [1, 1, 0.5, 0]],
    [0.9, [1, 1, 1, 0.5]],
  ])('of %d is spent on the lowest classes first', (fraction, expected) => {
    const each = [0, 1, 2, 3].map((rank) => mix().probability(fraction, rank));
    each.forEach((probability, rank) => {
      expect(probability).toBeCloseTo(expected[rank]!, 9);
    });
  });

  it('follows the traffic: what came long ago has faded', () => {
    const all = mix();
    for (let i = 0; i < 100; i++) all.countRequest(1, 30_000_000 + i);
    expect(all.probability(0.5, 1)).toBeCloseTo(0.5, 2);
  });

  it('refuses nothing of a class that was never seen', () => {
    expect(new Mix(4).probability(0.9, 0)).toBe(0);
  });
});
