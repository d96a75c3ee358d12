/** What is logged about a store that fails and recovers again and again: a few lines, whatever it does. */

import { SpillwayError } from '@spillway/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setUp } from './breaker-set-up.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function flapping() {
  const all = setUp({ onFault: () => undefined }); // single failures are not logged here
  const pass = async (seconds: number) => {
    for (let ms = 0; ms < seconds * 1000; ms += 50) {
      all.clock.advance(50);
      await vi.advanceTimersByTimeAsync(50);
    }
  };
  /** Down for a second, then healthy for one. */
  const blip = async () => {
    await all.fail(3);
    await pass(0.9);
    all.store.error = undefined;
    await pass(1.1);
    expect(await all.ask()).toBe('allowed');
  };
  return { ...all, pass, blip };
}

describe('a store that comes and goes', () => {
  it('is told of when it first fails and is back, then once a minute with a count', async () => {
    const { warnings, pass, blip } = flapping();
    for (let i = 0; i < 4; i += 1) await blip();
    expect(warnings).toEqual([
      'Spillway: the store is failing (connection lost). Meanwhile: a: local.',
      expect.stringMatching(/^Spillway: the store works again, after (0\.9|1\.0) s\.$/),
    ]);
    await pass(60);
    expect(warnings.slice(2)).toEqual([
      'Spillway: the store failed 3 more times in the last minute (connection lost); it works now.',
    ]);
    await pass(120);
    expect(warnings).toHaveLength(3);
    await blip();
    expect(warnings).toHaveLength(5);
  });

  it('fills no log in ten minutes', async () => {
    const { warnings, blip } = flapping();
    for (let i = 0; i < 300; i += 1) await blip();
    expect(warnings.length).toBeLessThanOrEqual(13);
    expect(warnings.every((line) => !line.includes('\n'))).toBe(true);
  });

  it('and stays away is told of as being away, then as being back', async () => {
    const { warnings, store, pass, blip, fail, ask } = flapping();
    await blip();
    await fail(3);
    await pass(60);
    expect(warnings.slice(2)).toEqual([
      'Spillway: the store failed once more in the last minute (connection lost); it is failing now. Meanwhile: a: local.',
    ]);
    store.error = undefined;
    await pass(6);
    expect(await ask()).toBe('allowed');
    expect(warnings[3]).toMatch(/^Spillway: the store works again, after 6\d\.\d s\.$/);
  });

  it('and has a user who can do something about it, is told of once more, with what to do', async () => {
    const { warnings, store, pass, fail } = flapping();
    await fail(3);
    const hung = new SpillwayError('SPW_STORE_UNAVAILABLE', 'set this', { kind: 'hung' });
    store.error = hung;
    await pass(5);
    expect(warnings.slice(1)).toEqual([
      `Spillway: the store: set this (SPW_STORE_UNAVAILABLE). See ${hung.help}`,
    ]);
  });

  it('and hangs within a minute, is told of as being back if a line said that it hangs', async () => {
    const { warnings, store, pass, blip, fail, ask } = flapping();
    await blip();
    await fail(3);
    store.error = new SpillwayError('SPW_STORE_UNAVAILABLE', 'set this', { kind: 'hung' });
    await pass(5);
    store.error = undefined;
    await pass(1.1);
    expect(await ask()).toBe('allowed');
    expect(warnings.slice(2)).toEqual([
      expect.stringContaining('the store: set this'),
      expect.stringMatching(/^Spillway: the store works again, after [56]\.\d s\.$/),
    ]);
  });
});

it('names the store as it calls itself, and not every limiter of very many', async () => {
  const { store, warnings, make, fail } = flapping();
  Object.assign(store, { label: 'Redis at 10.0.0.7:6379' });
  for (let i = 0; i < 10; i += 1) make(`l${i}`, { onStoreError: 'deny' });
  await fail(3);
  expect(warnings).toEqual([
    'Spillway: Redis at 10.0.0.7:6379 is failing (connection lost). ' +
      'Meanwhile: a: local; l0, l1, l2, l3, l4, l5, l6, l7 and 2 more: deny.',
  ]);
});
