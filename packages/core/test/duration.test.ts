import {
  concurrencyLimit,
  createGuard,
  createLimiter,
  type Duration,
  duration,
  rateLimit,
} from '@spillway/core';
import { toMicroseconds } from '@spillway/core/store';
import { createShaper } from '@spillway/outgoing';
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

describe('duration()', () => {
  it.each([
    ['1m', 60_000],
    ['0.3ms', 0.3],
    [1_500, 1_500],
    ['2w', 1_209_600_000],
  ])('reads %s as %f milliseconds', (text, ms) => {
    expect(duration(text)).toBe(ms);
  });

  it.each(['soon', '60', '', -1, Number.NaN, undefined])('throws for %j', (text) => {
    expect(() => duration(text as Duration)).toThrow(
      /^duration must be a duration such as .* \(SPW_OPTION_INVALID\)$/,
    );
  });
});

describe('a duration of the environment', () => {
  const { WINDOW = '1m', WRONG = 'a minute' } = {} as Record<string, string>;

  it('compiles wherever a duration stands, because it is a string', () => {
    const limiter = createLimiter({ limit: 1, window: WINDOW });
    expect(limiter.consume('ada').policy?.windowMs).toBe(60_000);
    concurrencyLimit({ limit: 1, lease: WINDOW, retryAfter: WINDOW });
    createGuard(rateLimit({ limit: 1, window: WINDOW }), {
      storeTimeout: duration(WINDOW) / 1_000,
    });
    createShaper({ limit: 1, window: WINDOW, maxWait: WINDOW });
  });

  it('throws at run time if it is none', () => {
    expect(() => createLimiter({ limit: 1, window: WRONG })).toThrow(/SPW_WINDOW_INVALID/);
    expect(() => concurrencyLimit({ limit: 1, lease: WRONG })).toThrow(/SPW_OPTION_INVALID/);
    expect(() => createShaper({ limit: 1, window: '1s', maxWait: WRONG })).toThrow(
      /SPW_OPTION_INVALID/,
    );
  });
});
