/** Eight greedy processes use nearly all that a server allows them, and the server rejects almost nothing. */

import { fakeTime } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { play, type Scene } from './partner.js';

fakeTime();

/** The pace for a server of ten a second: 2 % slower, so that a late call is never the eleventh of a window. */
const PERIOD_MS = 102;

const LOCAL: Omit<Scene, 'periodMs' | 'seed'> = {
  limit: 10,
  windowMs: 1000,
  wayMs: [1, 4],
  workMs: 2,
  storeMs: 1,
  policy: true,
};

/** How long a scene is played: 30 s with windows of a second, ten minutes with windows of a minute. */
const lengthOf = ({ windowMs }: Partial<Scene>): number =>
  windowMs === undefined ? 30_000 : 600_000;

describe.each([1, 2, 3])('started by chance %i', (seed) => {
  it.each<[string, Partial<Scene>]>([
    ['ten a second, at the pace of the server', {}],
    ['a little faster', { periodMs: 90 }],
    ['twice as fast', { periodMs: 50 }],
    ['five times as fast', { periodMs: 20 }],
    ['with a server that works for half a second', { workMs: 500 }],
    ['with a server that works for a second', { workMs: 1000 }],
    ['with a server that is far away', { wayMs: [20, 40] }],
    ['a hundred a minute, twelve times as fast', { limit: 100, windowMs: 60_000, periodMs: 50 }],
  ])('%s: at most 1 in 100 is refused, at least 95 are used', async (_, scene) => {
    const whole = { ...LOCAL, periodMs: PERIOD_MS, ...scene, seed };
    const { refused, used } = await play(whole, lengthOf(scene));
    expect(refused).toBeLessThanOrEqual(0.01);
    expect(used).toBeGreaterThanOrEqual(0.95);
  });

  it('where the server does not tell its policy, what there is in all is learnt', async () => {
    const scene = { ...LOCAL, policy: false, periodMs: PERIOD_MS, seed };
    const { refused, used } = await play(scene, 60_000);
    expect(refused).toBeLessThanOrEqual(0.01);
    expect(used).toBeGreaterThanOrEqual(0.9);
  });

  // Several calls start before the first of them is answered and before other processes learn of a pause.
  it.each<[string, Partial<Scene>]>([
    ['twenty times as fast', { periodMs: 5 }],
    ['five times as fast, with a server that is far away', { periodMs: 20, wayMs: [20, 40] }],
    ['five times as fast, with a store that is far away', { periodMs: 20, storeMs: 10 }],
  ])('%s: at most 4 in 100 are refused, at least 70 are used', async (_, scene) => {
    const { refused, used } = await play({ ...LOCAL, periodMs: PERIOD_MS, ...scene, seed }, 30_000);
    expect(refused).toBeLessThanOrEqual(0.04);
    expect(used).toBeGreaterThanOrEqual(0.7);
  });

  // Where calls arrive at the edge of a window, an eleventh may repeatedly arrive just before the edge.
  it('at exactly the pace of the server: at most 4 in 100 are refused, at least 70 are used', async () => {
    const { refused, used } = await play({ ...LOCAL, periodMs: 100, seed }, 30_000);
    expect(refused).toBeLessThanOrEqual(0.04);
    expect(used).toBeGreaterThanOrEqual(0.7);
  });
});
