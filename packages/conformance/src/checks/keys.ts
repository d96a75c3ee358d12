import type { Check, Harness } from '../harness.js';
import { check, expectEqual, type Probe } from '../probe.js';
import { ALGORITHMS, rateRule } from '../rules.js';

const LONG = 'k'.repeat(2 ** 20 - 1);

export const HOSTILE_KEYS: readonly string[] = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '',
  ' ',
  '  ',
  '\t',
  '0',
  '00',
  '-0',
  'null',
  'undefined',
  'NaN',
  '{}',
  '{a}b',
  '{b}a',
  'a',
  'A',
  'a:b',
  'a:b:c',
  'a\u0000',
  '\u0000',
  '\u0000\u0000',
  'a\r\nDEL b',
  'a\r\n',
  'a\n',
  '\ud800',
  '\udfff',
  '\ufffd',
  '\udc00\ud800',
  '\ud83d\ude00',
  '\ud83d',
  'caf\u00e9',
  'cafe\u0301',
  '\u00ff',
  '\u0100',
  '\u0130',
  'i\u0307',
  '%7B',
  '{',
  '%',
  '%25',
  '*',
  '?',
  '\\',
  '/',
  "'",
  '"',
  '127.0.0.1',
  '::ffff:127.0.0.1',
  LONG,
  `${LONG}a`,
  `${LONG}b`,
];

/**
 * Pairs of a limiter and a key. A store that doesn't escape its separator may give several of them the same name. So
 * may a column that ignores case or trailing spaces, or cuts names.
 */
const SPLITS: readonly (readonly [limiter: string, key: string])[] = [
  ['a', 'b:c'],
  ['a:b', 'c'],
  ['a:b:c', ''],
  ['', 'a:b:c'],
  ['a', 'bc'],
  ['ab', 'c'],
  ['AB', 'c'],
  ['ab ', 'c'],
  [`${'a'.repeat(63)}b`, 'c'],
  [`${'a'.repeat(63)}c`, 'c'],
  ['a%3Ab', 'c'],
  ['a{b}', 'c'],
  ['a', '{b}c'],
  ['a}', 'c'],
  ['a', '}c'],
  ['a\u0000', 'c'],
  ['a', '\u0000c'],
  ['a|b', 'c'],
  ['a', 'b|c'],
  ['1', '1:1'],
  ['1:1', '1'],
  ['__proto__', 'c'],
  ['constructor', 'c'],
];

export function keyChecks(harness: Harness): Check[] {
  return ALGORITHMS.flatMap((algorithm) => {
    const rule = rateRule(algorithm, 1, 60_000_000);
    return [
      check(`counts hostile keys apart (${algorithm})`, harness, (probe) =>
        countsApart(
          probe,
          HOSTILE_KEYS.map((key) => ({ limiter: 'hostile', key, rule })),
        ),
      ),
      check(
        `counts limiter and key apart wherever they are split (${algorithm})`,
        harness,
        (probe) =>
          countsApart(
            probe,
            SPLITS.map(([limiter, key]) => ({ limiter, key, rule })),
          ),
      ),
    ];
  });
}

async function countsApart(
  probe: Probe,
  subjects: readonly Parameters<Probe['ask']>[1][],
): Promise<void> {
  for (const allowed of [true, false]) {
    for (const subject of subjects) {
      const told = `limiter ${show(subject.limiter)}, key ${show(subject.key)}`;
      const answer = await probe.ask('take', subject);
      expectEqual(`${told}: ${allowed ? 'first' : 'second'} take`, allowed, answer.allowed);
    }
  }
}

function show(text: string): string {
  const quoted = JSON.stringify(text);
  return quoted.length > 40 ? `${quoted.slice(0, 20)}...${quoted.slice(-6)}` : quoted;
}
