/** HTTP dates of RFC 9110 in their three forms, and texts that only look like one. */

import { describe, expect, it } from 'vitest';
import { parseHttpDate } from '../../src/fetch/http-grammar.js';

const NOW = Date.UTC(2026, 0, 1);
const THEN = Date.UTC(1994, 10, 6, 8, 49, 37);

describe('an HTTP date', () => {
  it.each([
    ['Sun, 06 Nov 1994 08:49:37 GMT', THEN],
    ['Sunday, 06-Nov-94 08:49:37 GMT', THEN],
    ['Sun Nov  6 08:49:37 1994', THEN],
    ['Wed Nov 16 08:49:37 1994', Date.UTC(1994, 10, 16, 8, 49, 37)],
    ['Thu, 31 Dec 2026 23:59:60 GMT', Date.UTC(2027, 0, 1)],
    ['Thu, 29 Feb 2024 00:00:00 GMT', Date.UTC(2024, 1, 29)],
  ])('is read: %s', (text, instant) => {
    expect(parseHttpDate(text, NOW)).toBe(instant);
  });

  it('with a year of two digits is at most 50 years ahead', () => {
    const year = (text: string): number =>
      new Date(parseHttpDate(`Sunday, 06-Nov-${text} 08:49:37 GMT`, NOW) ?? 0).getUTCFullYear();
    expect(['26', '75', '77', '99'].map(year)).toEqual([2026, 2075, 1977, 1999]);
  });

  it.each([
    '',
    '1994-11-06T08:49:37Z',
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sun, 06 Nov 1994 08:49:37 +0100',
    'sun, 06 nov 1994 08:49:37 gmt',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'Sun, 31 Feb 1994 08:49:37 GMT',
    'Sun, 00 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nox 1994 08:49:37 GMT',
    'Sun, 06 Anf 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 24:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:37 GMT',
    'Sun, 06 Nov 1994 08:49:61 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT',
  ])('is not: %s', (text) => {
    expect(parseHttpDate(text, NOW)).toBeUndefined();
  });
});
