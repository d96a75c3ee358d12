import { seeded } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import {
  advanceLadder,
  type LadderState,
  ladderProbability,
  restingLadder,
  shedAmountOf,
} from '../../src/shed/ladder.js';

const SECOND = 1_000_000;
const full: LadderState = { levelUs: 120 * SECOND, atUs: 0 };

/** One reading a second, from 1 s to `seconds`. Returns the shed amount after each. */
function climb(from: LadderState, utilization: number, seconds: number): number[] {
  const amounts = [shedAmountOf(from)];
  let state = from;
  for (let second = 1; second <= seconds; second++) {
    state = advanceLadder(state, { value: utilization, ageMs: 0 }, second * SECOND);
    amounts.push(shedAmountOf(state));
  }
  return amounts;
}

describe('the ladder, from rest', () => {
  it.each([
    [1, 28, 148],
    [0.9, 56, 296],
    [2.5, 28, 148], // more than full utilization counts as full
  ])('at utilization %d sheds strictly after %d s, and everything at %d s', (u, first, all) => {
    const amounts = climb(restingLadder(0), u, 400);
    expect(amounts.findIndex((amount) => amount > 0)).toBe(first + 1);
    expect(amounts.indexOf(1)).toBe(all);
    expect(amounts.at(-1)).toBe(1);
  });

  it.each([0.7, 0.75, 0.79, 0.5, 0])('at utilization %d never sheds', (u) => {
    expect(Math.max(...climb(restingLadder(0), u, 4000))).toBe(0);
  });

  it('gains exactly a 120th each second at full utilization', () => {
    const amounts = climb(restingLadder(0), 1, 148);
    expect(amounts.slice(28)).toEqual(Array.from({ length: 121 }, (_, k) => k / 120));
  });
});

describe('the ladder, from everything', () => {
  it.each([
    [0.35, 240, 296],
    [0, 120, 148],
    [0.65, 1680, 2072],
  ])('at utilization %d sheds nothing at %d s and rests at %d s', (u, nothing, rest) => {
    const amounts = climb(full, u, nothing);
    expect(amounts.indexOf(0)).toBe(nothing);
    let state = full;
    for (let second = 1; second <= rest; second++) {
      expect(state.levelUs).toBeGreaterThan(-28 * SECOND);
      state = advanceLadder(state, { value: u, ageMs: 0 }, second * SECOND);
    }
    expect(state.levelUs).toBe(-28 * SECOND);
  });

  it.each([0.7, 0.75, 0.7999, 0.8])('in the dead zone, at %d, stays where it is', (u) => {
    expect(new Set(climb(full, u, 4000))).toEqual(new Set([1]));
    expect(climb({ levelUs: 30 * SECOND, atUs: 0 }, u, 500).at(-1)).toBe(0.25);
  });
});

describe('the ladder, when readings do not come on time', () => {
  it('counts a late reading in full', () => {
    const late = advanceLadder(
      restingLadder(0),
      { value: 1, ageMs: 0, spanMs: 30_000 },
      30 * SECOND,
    );
    expect(shedAmountOf(late)).toBe(2 / 120);
  });

  it('counts it from when it was taken, once', () => {
    const reading = (ageMs: number) => ({ value: 1, ageMs, spanMs: 1000 });
    const first = advanceLadder(restingLadder(0), reading(400), 1.4 * SECOND);
    expect(first).toEqual({ levelUs: -27 * SECOND, atUs: SECOND });
    expect(advanceLadder(first, reading(700), 1.7 * SECOND)).toBe(first);
  });

  it('holds without readings for nine seconds, then rests', () => {
    expect(advanceLadder(full, undefined, 9 * SECOND)).toBe(full);
    expect(shedAmountOf(advanceLadder(full, undefined, 9 * SECOND + 1))).toBe(0);
  });

  it('forgets what was before an hour of silence', () => {
    const state = advanceLadder(full, { value: 1, ageMs: 0 }, 3600 * SECOND);
    expect(state.levelUs).toBe(-27 * SECOND);
  });

  it('does not move when the clock goes back', () => {
    const state: LadderState = { levelUs: 5 * SECOND, atUs: 100 * SECOND };
    expect(advanceLadder(state, { value: 1, ageMs: 0 }, 50 * SECOND)).toBe(state);
  });
});

it('whatever comes, the amount is from 0 to 1, moves the right way and by a 120th a second at most', () => {
  const random = seeded(7);
  for (let history = 0; history < 50; history++) {
    let state = restingLadder(0);
    let bias = random.uniform();
    for (let nowUs = 0; nowUs < 600 * SECOND; ) {
      if (random.uniform() < 0.02) bias = random.uniform();
      const elapsedUs = Math.round(SECOND * (0.5 + 3 * random.uniform()));
      const value = Math.min(1.2, bias + 0.4 * random.uniform());
      nowUs += elapsedUs;
      const before = shedAmountOf(state);
      state = advanceLadder(state, { value, ageMs: 0 }, nowUs);
      const change = shedAmountOf(state) - before;
      expect(shedAmountOf(state)).toBeGreaterThanOrEqual(0);
      expect(shedAmountOf(state)).toBeLessThanOrEqual(1);
      expect(Math.abs(change)).toBeLessThanOrEqual(elapsedUs / 120 / SECOND + 1e-9);
      if (value >= 0.8) expect(change).toBeGreaterThanOrEqual(0);
      else if (value >= 0.7) expect(change).toBe(0);
      else expect(change).toBeLessThanOrEqual(0);
    }
  }
});

it('classes are shed in order, one fully before the next begins', () => {
  for (let amount = 0; amount <= 1; amount += 1 / 1024) {
    const each = [0, 1, 2].map((rank) => ladderProbability(amount, rank, 3));
    expect(each.every((p) => p >= 0 && p <= 1)).toBe(true);
    expect(each[1]! === 0 || each[0] === 1).toBe(true);
    expect(each[2]! === 0 || each[1] === 1).toBe(true);
    expect(each[0]! + each[1]! + each[2]!).toBeCloseTo(3 * amount, 12);
  }
});
