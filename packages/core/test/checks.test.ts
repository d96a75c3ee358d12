/** Errors about options have one form, from checks that all options share. */

import {
  createLimiter,
  idempotency,
  memoryControl,
  memoryStore,
  rateLimit,
  type Signal,
  workerShedder,
} from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { durationBetween, integerBetween, oneOf, positiveInteger } from '../src/base/checks.js';

const none = undefined as never;
const note = { by: 'ada', because: 'a test' };

describe('a wrong option', () => {
  it.each<[string, () => unknown]>([
    [
      'maxEntries must be an integer from 1 to 100,000,000, got 0',
      () => memoryStore({ maxEntries: 0 }),
    ],
    ['clock must be an object with nowUs(), got 1', () => memoryStore({ clock: 1 as never })],
    [
      'localShare must be above 0 and at most 1, got "0.5"',
      () => createLimiter({ limit: 1, window: '1s' }, { localShare: '0.5' as never }),
    ],
    [
      'cost must be an integer from 0, got -1',
      () => rateLimit({ limit: 1, window: '1s', cost: -1 }),
    ],
    [
      'signal of the ladder must be an object with a name and read(), got 1',
      () => workerShedder({ name: 'w', signal: 1 as never, brake: false }),
    ],
    [
      'signal must be given, as in signal: eventLoopSignal(), got undefined',
      () => workerShedder({ name: 'w' }),
    ],
    [
      'scope must be a function that names the caller, got undefined',
      () => idempotency(undefined as never),
    ],
    [
      'ladder must be false, or have a signal as in signal: eventLoopSignal(), got undefined',
      () => workerShedder({ name: 'w', brake: { signal: none as Signal } }),
    ],
    [
      'a name in settings must be one of mode, share, limits, got "modes"',
      () => memoryControl().set('api', { modes: 'off' } as never, note),
    ],
    [
      'limits must be a factor, or set for one limiter, got "*"',
      () => memoryControl().set('*', { limits: { limit: 2 } }, note),
    ],
  ])('is told as "%s"', (message, make) => {
    expect(make).toThrow(message);
  });
});

describe('the checks', () => {
  it('take the ends of a range, and nothing beyond', () => {
    expect(integerBetween('n', 1, 1, 3)).toBe(1);
    expect(integerBetween('n', 3, 1, 3)).toBe(3);
    for (const value of [0, 4, 1.5, '2', Number.NaN, undefined]) {
      expect(() => integerBetween('n', value, 1, 3)).toThrow('n must be an integer from 1 to 3');
    }
    expect(durationBetween('d', '1m', '1ms', '60s')).toBe(60_000_000);
    expect(durationBetween('d', 1, '1ms', '60s')).toBe(1_000);
    for (const value of ['61s', 0.999, 'soon', undefined]) {
      expect(() => durationBetween('d', value, '1ms', '60s')).toThrow('d must be from 1ms to 60s');
    }
    expect(() => positiveInteger('n', 0)).toThrow('n must be a positive integer, got 0');
  });

  it('throw under the code that they are given', () => {
    const words = ['a', 'b'] as const;
    expect(oneOf('w', undefined, words)).toBeUndefined();
    expect(() => oneOf('w', 'c' as 'a', words)).toThrow('got "c" (SPW_OPTION_INVALID)');
    expect(() => oneOf('w', 'c' as 'a', words, 'SPW_ALGORITHM_INVALID')).toThrow(
      'w must be one of a, b, got "c" (SPW_ALGORITHM_INVALID)',
    );
  });
});
