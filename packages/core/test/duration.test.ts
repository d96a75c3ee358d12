import type { Duration } from '@spillway/core';
import { toMicroseconds } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';

describe('a duration', () => {
  it.each([
    ['1ms', 1_000],
    ['250ms', 250_000],
    ['0.3ms', 300],
    ['10s', 10_000_000],
    ['1.5h', 5_400_000_000],
    ['1d', 86_400_000_000],
    ['2w', 1_209_600_000_000],
    [1000, 1_000_000],
    [0.001, 1],
    [0, 0],
  ] as const)('%s is %i microseconds', (duration, us) => {
    expect(toMicroseconds(duration)).toBe(us);
  });

  it.each([
    '',
    '1',
    'm',
    '1 m',
    '-1s',
    '1e3s',
    '1M',
    '1.s',
    '0.0001ms',
    -1,
    Number.NaN,
    Infinity,
    0.00011,
    null,
    {},
    1e300,
  ])('%s is none', (duration) => {
    expect(() => toMicroseconds(duration as Duration)).toThrow(/SPW_OPTION_INVALID/);
  });
});
