/** What is read from an answer of the other side, and that no answer can do damage. */

import { describe, expect, it } from 'vitest';
import { pick, type Random, seeded } from '../../../core/test/net/random.js';
import { parseList } from '../../src/fetch/http-grammar.js';
import { readRemaining, retryAfterMs } from '../../src/fetch/response-headers.js';

const NOW = Date.UTC(2026, 0, 1);
const at = (ms: number): string => new Date(NOW + ms).toUTCString();
const fields = (given: Record<string, string>): Headers => new Headers(given);

describe('the time to wait', () => {
  it.each<[string, Record<string, string>, number | undefined]>([
    ['is seconds', { 'retry-after': '3' }, 3000],
    ['is zero', { 'retry-after': '0' }, 0],
    ['is a date', { 'retry-after': at(5000) }, 5000],
    ['is a date by the clock of the server', { 'retry-after': at(9000), date: at(7000) }, 2000],
    ['is a date that is over', { 'retry-after': at(-5000) }, 0],
    ['is milliseconds, which win', { 'retry-after-ms': '250', 'retry-after': '3' }, 250],
    ['is milliseconds with decimals', { 'retry-after-ms': '12.5' }, 12.5],
    [
      'is seconds, if the milliseconds are wrong',
      { 'retry-after-ms': '-1', 'retry-after': '3' },
      3000,
    ],
    ['has more digits than a number', { 'retry-after': '9'.repeat(400) }, Number.POSITIVE_INFINITY],
    ['is not there', {}, undefined],
    ['is sent twice', { 'retry-after': '5, 10' }, undefined],
    ['is negative', { 'retry-after': '-5' }, undefined],
    ['has decimals', { 'retry-after': '1.5' }, undefined],
    ['is 1e3', { 'retry-after': '1e3' }, undefined],
    ['is hexadecimal', { 'retry-after': '0x10' }, undefined],
    ['has a unit', { 'retry-after': '5s' }, undefined],
    ['is an empty text', { 'retry-after': '' }, undefined],
  ])('%s', (_, given, ms) => {
    expect(retryAfterMs(fields(given), NOW)).toBe(ms);
  });
});

describe('what is left', () => {
  const left = (given: Record<string, string>, withX = false): unknown[] =>
    readRemaining(fields(given), NOW, withX).map(({ units, seconds }) => [units, seconds]);

  it.each<[string, Record<string, string>, unknown[]]>([
    ['drafts 8 to 11', { ratelimit: '"a";r=7;t=1' }, [[7, 1]]],
    [
      'several limits',
      { ratelimit: '"a";r=7;t=1, "b";r=0;t=60' },
      [
        [7, 1],
        [0, 60],
      ],
    ],
    [
      'spaces',
      { ratelimit: '"a"; r=7; t=1 ,\t"b";r=1;t=2' },
      [
        [7, 1],
        [1, 2],
      ],
    ],
    ['a name with an escape', { ratelimit: '"a\\";r=9";r=7;t=1' }, [[7, 1]]],
    ['a token for a name', { ratelimit: 'default;r=7;t=1' }, [[7, 1]]],
    ['other parameters', { ratelimit: '"a";pk=:dGVu:;x;r=7;y="z";t=1;v=1.5;u=?0' }, [[7, 1]]],
    ['a parameter that is told twice', { ratelimit: '"a";r=7;t=1;r=3' }, [[3, 1]]],
    ['draft 7', { ratelimit: 'limit=100, remaining=50, reset=30' }, [[50, 30]]],
    ['draft 6', { 'ratelimit-remaining': '5', 'ratelimit-reset': '9' }, [[5, 9]]],
    ['an answer from a cache', { ratelimit: '"a";r=7;t=1', age: '3' }, []],
    ['an answer through a cache', { ratelimit: '"a";r=7;t=1', age: '0' }, [[7, 1]]],
    ['a limit without t', { ratelimit: '"a";r=0, "b";r=1;t=2' }, [[1, 2]]],
    ['a limit without r', { ratelimit: '"a";t=1' }, []],
    ['a decimal', { ratelimit: '"a";r=7.0;t=1' }, []],
    ['a negative number', { ratelimit: '"a";r=-7;t=1' }, []],
    ['16 digits', { ratelimit: '"a";r=1234567890123456;t=1' }, []],
    ['a comma at the end', { ratelimit: '"a";r=7;t=1,' }, []],
    ['a semicolon at the end', { ratelimit: '"a";r=7;t=1;' }, []],
    ['a second item that is none', { ratelimit: '"a";r=7;t=1, 5' }, []],
    ['a name that does not end', { ratelimit: '"a;r=7;t=1' }, []],
    ['a field of five thousand units', { ratelimit: `"${'a'.repeat(5000)}";r=7;t=1` }, []],
    [
      'fields that nobody asked for',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '9' },
      [],
    ],
  ])('%s', (_, given, expected) => {
    expect(left(given)).toEqual(expected);
  });

  it.each([
    ['seconds from now', '30', 30],
    ['seconds since the epoch', String(NOW / 1000 + 30), 30],
    ['milliseconds since the epoch', String(NOW + 30_000), 30],
    ['an instant that is over', String(NOW / 1000 - 30), 0],
  ])('of X-RateLimit, where asked for: %s', (_, reset, seconds) => {
    const given = { 'x-ratelimit-remaining': '4', 'x-ratelimit-reset': reset };
    expect(left(given, true)).toEqual([[4, seconds]]);
    expect(left({ ...given, ratelimit: '"a";r=7;t=1' }, true)).toEqual([[7, 1]]);
  });

  it.each([
    ['the only policy', { ratelimit: '"a";r=7;t=1', 'ratelimit-policy': '"b";q=10;w=1' }, 10],
    ['draft 7', { ratelimit: 'limit=10, remaining=7, reset=1' }, 10],
    [
      'one of several',
      { ratelimit: '"a";r=7;t=1', 'ratelimit-policy': '"a";q=9, "b";q=5' },
      undefined,
    ],
    ['nothing', { ratelimit: '"a";r=7;t=1' }, undefined],
  ])('of how much, by %s: names are not compared', (_, given, limit) => {
    const [first] = readRemaining(fields(given as Record<string, string>), NOW, false);
    expect(first?.limit).toBe(limit);
  });
});

describe('whatever an answer says', () => {
  const PIECES = [
    '"a"',
    '"a";r=1;t=60',
    ';t=60',
    'remaining=5',
    'b*',
    ';',
    '; ',
    ',',
    ' , ',
    'r',
    't',
    'q',
    'w',
    '=',
    '0',
    '7',
    '-1',
    '1.5',
    '"',
    '\\',
    '\\"',
    ':',
    'YQ==',
    '?1',
    ' ',
    '\t',
    '99999999999999999999',
    'limit=',
    'remaining=',
    'reset=',
    ', reset=1',
    'Sun, ',
    '06 Nov 1994 08:49:37 GMT',
    'é',
  ];
  const NAMES = [
    'ratelimit',
    'ratelimit-policy',
    'ratelimit-remaining',
    'ratelimit-reset',
    'x-ratelimit-remaining',
    'x-ratelimit-reset',
    'retry-after',
    'retry-after-ms',
    'date',
    'age',
  ];
  const text = (random: Random): string =>
    Array.from({ length: random(8) }, () => pick(random, PIECES)).join('');

  it('nothing throws, and every number is one that a pause can be made of', () => {
    let told = 0;
    for (let seed = 1; seed <= 20_000; seed += 1) {
      const random = seeded(seed);
      const given = new Map(Array.from({ length: 3 }, () => [pick(random, NAMES), text(random)]));
      const answer = { get: (name: string) => given.get(name) ?? null };
      const waitMs = retryAfterMs(answer, NOW) ?? 0;
      expect(waitMs).toBeGreaterThanOrEqual(0);
      for (const { units, seconds } of readRemaining(answer, NOW, true)) {
        told += 1;
        expect(units).toBeGreaterThanOrEqual(0);
        expect(seconds).toBeGreaterThanOrEqual(0);
      }
    }
    expect(told).toBeGreaterThan(10);
  });

  it('is read in a time that grows with its length only', () => {
    const long = (piece: string): string => piece.repeat(Math.floor(50_000 / piece.length));
    for (const piece of ['"', '"a', '\\"', 'a;', '; ', ' ', 'a,', ';a=', '"a";r=1', ':', ':a']) {
      const begin = performance.now();
      parseList(`"a"${long(piece)}`);
      expect(performance.now() - begin).toBeLessThan(1000);
    }
  });
});
