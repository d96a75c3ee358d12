/** A flood of rejected keys, however long, cannot fill memory: the denial cache is bounded in bytes. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Answer, createLimiter, type Step, type Store } from '@spillway/core';
import { algorithmByName } from '@spillway/core/algorithms';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const HOUR_US = 3_600_000_000;
const MB = 1_000_000;

/** A remote store that rejects every key for an hour, and stores nothing itself. */
class Refusing implements Store {
  readonly sync = false;
  readonly testClock = new ManualClock();
  asked = 0;

  async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    this.asked += steps.length;
    const nowUs = this.testClock.nowUs();
    return steps.map(() => ({ allowed: false, nowUs, tatUs: nowUs + HOUR_US, tatNum: 0 }));
  }
}

function heapNow(): number {
  collect();
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
}

async function flood(keys: number, keyOf: (i: number) => string) {
  const store = remoteStore(new Refusing());
  const limiter = createLimiter({ name: 'one', limit: 1, window: '1h' }, { store });
  await limiter.consume('first');
  const before = heapNow();
  for (let i = 0; i < keys; i += 1) await limiter.consume(keyOf(i));
  return { store, limiter, before, grownMb: (heapNow() - before) / MB };
}

const long = (i: number) => `${i}`.padEnd(8_000, 'x');

describe('refusals that are remembered', () => {
  // The first test: what others leave to the garbage collector would be freed between its measurements.
  it('leave once they are over as the store answers others, though nobody asks for them again', async () => {
    const keyOf = (i: number) => `${i}`.padEnd(60, 'x');
    const { store, limiter, before, grownMb } = await flood(20_000, keyOf);
    store.testClock.advance('2m');
    for (let i = 0; i < 10_000; i += 1) await limiter.peek('another');
    // Other keys replace them: if they had stayed, memory use would double.
    for (let i = 0; i < 20_000; i += 1) await limiter.consume(keyOf(20_000 + i));
    const heldMb = (heapNow() - before) / MB;
    await limiter.peek('another'); // so that the limiter was not collected itself
    expect(heldMb).toBeGreaterThan(grownMb / 2);
    expect(heldMb).toBeLessThan(grownMb * 1.5);
  });

  it.each([
    [20_000, 'long keys', long],
    [50_000, 'long keys', long],
    [50_000, 'keys cut out of long headers', (i: number) => long(i).slice(0, 40)],
  ])('of %i %s take less than 20 MB', async (keys, _, keyOf) => {
    const { store, limiter, grownMb } = await flood(keys, keyOf);
    expect(grownMb).toBeLessThan(20);
    // These rejections are cached anyway.
    const { asked } = store;
    expect((await limiter.consume(keyOf(keys - 1))).allowed).toBe(false);
    expect(store.asked).toBe(asked);
  });
});

describe('keys cut out of long headers', () => {
  it.each(['token-bucket', 'fixed-window'] as const)(
    'do not keep the headers alive in a memory store of %s',
    (algorithm) => {
      const limiter = createLimiter({
        limit: 1,
        window: '1h',
        algorithm: algorithmByName(algorithm),
      });
      limiter.consume('first');
      const before = heapNow();
      for (let i = 0; i < 50_000; i += 1) limiter.consume(long(i % 20_000).slice(0, 40));
      expect((heapNow() - before) / MB).toBeLessThan(20);
      expect(limiter.peek('first').allowed).toBe(false);
    },
  );
});
