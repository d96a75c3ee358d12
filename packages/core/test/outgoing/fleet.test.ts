/** Eight greedy processes use what a server allows them, and it has next to nothing to refuse. */

import { describe, expect, it } from 'vitest';
import { play, type Scene } from './partner.js';

const LOCAL: Omit<Scene, 'periodMs' | 'seed'> = {
  limit: 10,
  windowMs: 1000,
  wayMs: [1, 4],
  workMs: 2,
  policy: true,
};

describe.each([1, 2, 3, 4, 5])('started by chance %i', (seed) => {
  it.each<[string, Partial<Scene>]>([
    ['ten a second, at the pace of the server', { periodMs: 100 }],
    ['a little faster', { periodMs: 90 }],
    ['twice as fast', { periodMs: 50 }],
    ['five times as fast', { periodMs: 20 }],
    ['with a server that works for half a second', { periodMs: 100, workMs: 500 }],
    ['with a server that works for a second', { periodMs: 100, workMs: 1000 }],
    ['a hundred a minute, twelve times as fast', { limit: 100, windowMs: 60_000, periodMs: 50 }],
  ])('%s: at most 1 %% is refused, at least 95 %% is used', async (_, scene) => {
    const lengthMs = scene.windowMs === undefined ? 30_000 : 600_000;
    const { refused, used } = await play({ ...LOCAL, periodMs: 100, ...scene, seed }, lengthMs);
    expect(refused).toBeLessThanOrEqual(0.01);
    expect(used).toBeGreaterThanOrEqual(0.95);
  });

  it('where the server does not tell its policy, what there is in all is learnt', async () => {
    const scene = { ...LOCAL, policy: false, periodMs: 100, seed };
    const { refused, used } = await play(scene, 60_000);
    expect(refused).toBeLessThanOrEqual(0.01);
    expect(used).toBeGreaterThanOrEqual(0.9);
  });

  // Two calls are on the wire at any time, and the order in which they arrive is left to chance.
  it('twenty times as fast: at most 4 % is refused, at least 90 % is used', async () => {
    const { refused, used } = await play({ ...LOCAL, periodMs: 5, seed }, 30_000);
    expect(refused).toBeLessThanOrEqual(0.04);
    expect(used).toBeGreaterThanOrEqual(0.9);
  });
});
