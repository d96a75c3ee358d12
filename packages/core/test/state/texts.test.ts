/** The texts in which counts are stored: their formats, when they are written, and texts of other programs. */

import {
  type Claim,
  type Lease,
  makeClaimsRule,
  makeLeasesRule,
  makeRule,
  type Op,
  type Receipt,
  type Rule,
  receiptFrom,
  type Step,
  stepText,
} from '@spillway/core/store';
import { describe, expect, it } from 'vitest';

const NOW = 1_767_225_600_000_000;
const SECOND = 1_000_000;

interface Extras {
  readonly lease?: Lease;
  readonly receipt?: Receipt;
  readonly claim?: Claim;
}

function step(op: Op, rule: Rule, cost = 1, extras: Extras = {}): Step {
  return { op, limiter: 'api', key: 'ada', rule, cost, binding: true, ...extras };
}

const bucket = makeRule('token-bucket', 10, 10 * SECOND);
const thirds = makeRule('token-bucket', 3, 10 * SECOND);
const fixed = makeRule('fixed-window', 10, 10 * SECOND);
const anchored = makeRule('fixed-window', 10, 10 * SECOND, 10, 'first-request');
const sliding = makeRule('sliding-window-counter', 10, 10 * SECOND);
const log = makeRule('sliding-window-log', 10, 10 * SECOND);
const leases = makeLeasesRule(2, 60 * SECOND);
const claims = makeClaimsRule(60 * SECOND, 90 * SECOND);
const owner = 'a'.repeat(16);
const claim = { id: 'id', owner, note: 'a: note' };
const held = { lease: { id: 'a1', critical: false } };

describe('a count as a text', () => {
  it.each<[string, Step, string, number]>([
    ['a bucket', step('take', bucket, 2), '1767225602000000', NOW + 2 * SECOND],
    ['a bucket of fractions', step('take', thirds), '1767225603333333:1', NOW + 3_333_334],
    ['a fixed window', step('take', fixed, 2), '1767225600000000:2:0', NOW + 10 * SECOND],
    ['an anchored window', step('take', anchored, 2), '1767225600000000:2:0', NOW + 10 * SECOND],
    ['a sliding window', step('take', sliding), '1767225600000000:1:0', NOW + 20 * SECOND],
    ['a log', step('take', log, 3), '1 1767225600000000:3', NOW + 10 * SECOND],
    ['a permit', step('take', leases, 1, held), '1[["a1",1767225660000000,0]]', NOW + 60 * SECOND],
    [
      'a claim that runs',
      step('take', claims, 1, { claim }),
      `1767225660000000r${owner}`,
      NOW + 60 * SECOND,
    ],
    [
      'a claim that is done',
      step('done', claims, 1, { claim }),
      `1767225690000000d${owner}a: note`,
      NOW + 90 * SECOND,
    ],
  ])('is %s', (_, take, text, expiresUs) => {
    expect(stepText(undefined, take, NOW, true)).toMatchObject({ text, expiresUs });
    // And it is read again with the same meaning.
    const look = { ...take, op: 'look' as const };
    const { answer } = stepText(undefined, take, NOW, true);
    const again = stepText(text, look, NOW, true).answer;
    // A done claim is run by nobody, not even its owner.
    expect(again).toEqual({ ...answer, allowed: take.op === 'take' });
    // An expired claim is the same as none.
    expect(shown(stepText(text, look, expiresUs, true).answer)).toEqual(
      shown(stepText(undefined, look, expiresUs, true).answer),
    );
    expect(shown(stepText(text, look, expiresUs - 1, true).answer)).not.toEqual(
      shown(stepText(undefined, look, expiresUs - 1, true).answer),
    );
  });

  it('has the entries of a log one after the other, and critical holders marked', () => {
    const text = '1 1767225600000000:3 5000:2';
    expect(stepText('1 1767225600000000:3', step('take', log, 2), NOW + 5_000, true).text).toBe(
      text,
    );
    const critical = { lease: { id: '"\u0000é', critical: true } };
    expect(
      stepText('1[["a1",1767225660000000,0]]', step('take', leases, 1, critical), NOW, true).text,
    ).toBe('1[["a1",1767225660000000,0],["\\"\\u0000é",1767225660000000,1]]');
  });

  it('is gone when all is given back or reset', () => {
    for (const rule of [bucket, thirds, log, leases]) {
      const { text, answer } = stepText(undefined, step('take', rule, 1, held), NOW, true);
      const receipt = receiptFrom(rule, answer, 1);
      const put = step('put', rule, 1, { ...held, receipt });
      expect(stepText(text, put, NOW, true)).toMatchObject({ text: undefined, expiresUs: 0 });
    }
    for (const rule of [bucket, fixed, sliding, log, leases]) {
      expect(stepText('anything', step('reset', rule), NOW, true).text).toBeUndefined();
    }
    for (const op of ['put', 'reset'] as const) {
      const running = `1767225660000000r${owner}`;
      const ended = stepText(running, step(op, claims, 1, { claim }), NOW, true);
      expect(ended).toMatchObject({ text: undefined, expiresUs: 0 });
    }
    expect(stepText('anything', step('reset', claims, 1, { claim }), NOW, true).text).toBe(
      undefined,
    );
    // A reset without a claim deletes no text of a claim.
    expect(stepText('anything', step('reset', claims), NOW, true).text).toBe('anything');
  });

  it('keeps the rest of what is given back in part', () => {
    const receipt = { atUs: NOW, num: 0, units: 3 };
    const put = (rule: Rule) => step('put', rule, 1, { receipt });
    expect(stepText('1 1767225600000000:3 5000:2', put(log), NOW + 5_000, true).text).toBe(
      '1 1767225600000000:2 5000:2',
    );
    expect(stepText('1767225600000000:3:0', put(fixed), NOW, true).text).toBe(
      '1767225600000000:2:0',
    );
  });
});

describe('the same text comes back', () => {
  const texts: [string, Rule, string][] = [
    ['a bucket', bucket, '1767225609500000'],
    ['a window of the time before', sliding, '1767225590000000:10:0'],
    ['a log with an entry that has expired', log, '1 1767225500000000:4 100000000:10'],
    [
      'permits, one of them over',
      leases,
      '1[["x",5,0],["y",1767225660000000,0],["z",1767225660000000,0]]',
    ],
  ];
  const other = { lease: { id: 'b2', critical: false } };

  it.each(texts)('from a take that is refused: %s', (_, rule, text) => {
    const stepped = stepText(text, step('take', rule, 1, other), NOW, true);
    expect(stepped.answer.allowed).toBe(false);
    expect(stepped).toMatchObject({ text, expiresUs: 0 });
  });

  it.each(texts)('from what changes nothing: %s', (_, rule, text) => {
    const ops: [Op, number, Extras?][] = [
      ['look', 1, other],
      ['take', 0, other],
      ['record', 0, other],
      ['put', 1],
      ['put', 1, { ...other, receipt: { atUs: 1, num: 0, units: 1 } }],
      ['put', 0, { lease: { id: 'y', critical: false } }],
    ];
    for (const [op, cost, extras] of ops) {
      expect(stepText(text, step(op, rule, cost, extras), NOW, true).text).toBe(text);
    }
  });

  it('from a step of permits that names none', () => {
    const text = '1[["x",5,0]]'; // expired: it would be gone if this were written
    for (const op of ['take', 'record', 'put'] as const) {
      expect(stepText(text, step(op, leases), NOW, true).text).toBe(text);
    }
  });

  it('from a take that passes where nothing may be charged', () => {
    for (const rule of [bucket, fixed, sliding, log, leases]) {
      const stepped = stepText(undefined, step('take', rule, 1, held), NOW, false);
      expect(stepped).toMatchObject({ answer: { allowed: true }, text: undefined });
    }
  });
});

it('is repaired by a take that is not charged, after the clock went back', () => {
  const day = 86_400 * SECOND;
  const ahead = NOW + 10 * day;
  const cases: [Rule, string, string][] = [
    [bucket, `${ahead}`, `${NOW + 10 * SECOND}`],
    [fixed, `${ahead}:10:0`, `${NOW}:10:0`],
    [log, `1 ${ahead - 5}:4 5:6`, `1 ${NOW}:10`],
    [
      leases,
      `1[["a",${ahead},0],["b",${ahead},0]]`,
      `1[["a",${NOW + 60 * SECOND},0],["b",${NOW + 60 * SECOND},0]]`,
    ],
  ];
  for (const [rule, text, repaired] of cases) {
    const other = { lease: { id: 'c', critical: false } };
    expect(stepText(text, step('take', rule, 1, other), NOW, true).text).toBe(repaired);
    expect(stepText(text, step('look', rule, 1, other), NOW, true).text).toBe(text);
  }
});

describe('a text that is not ours', () => {
  const foreign: [Rule, readonly string[]][] = [
    [bucket, ['', 'x', '-1', '1e3', '1:', ':1', '1:2:3', '99999999999999999', ' 1']],
    [fixed, ['', '1', '1:2', '1:2:3:4', '1:2:x', '99999999999999999:1:1']],
    [
      log,
      [
        '',
        '2 1:1',
        '1 1',
        '1 1:0',
        '1 1:1 0:1',
        '1 x:1',
        '1  1:1',
        '1 1:9007199254740991 1:1',
        '11:1',
      ],
    ],
    [
      leases,
      [
        '',
        '1',
        '2[]',
        '1{}',
        '1[1]',
        '1[["a"]]',
        '1[["a",-1,0]]',
        '1[["a",1.5,0]]',
        '1[["a",1,2]]',
        '1[["a",1,0],["a",1,0]]',
        '1[[1,1,0]]',
        '1[',
        '1null',
      ],
    ],
    [
      claims,
      [
        '',
        '1',
        '1767225660000000',
        `r${owner}`,
        `1767225660000000x${owner}`,
        '1767225660000000rshort',
        `1767225660000000r${owner}note`,
        `1767225660000000d${owner}é`,
        `1767225660000000d${owner}a\nb`,
        `1767225660000000d${owner}${'n'.repeat(257)}`,
        `9999999999999999r${owner}`,
        `-1r${owner}`,
      ],
    ],
  ];

  it('is an error where a fraction of a microsecond is a whole one', () => {
    expect(() => stepText('1767225603333333:3', step('look', thirds), NOW, true)).toThrow(
      /SPW_STORE_ERROR/,
    );
    expect(() => stepText('1767225603333333:1', step('look', bucket), NOW, true)).toThrow(
      /SPW_STORE_ERROR/,
    );
  });

  it.each(foreign)('is an error: $machine', (rule, texts) => {
    for (const text of texts) {
      expect(() => stepText(text, step('take', rule, 1, held), NOW, true), text).toThrow(
        expect.objectContaining({
          code: 'SPW_STORE_ERROR',
          message: expect.stringContaining('the stored value is not one of this format'),
        }),
      );
    }
  });
});

it('a log has at most 10,000 entries in its text: later units expire with the newest, never earlier', () => {
  const long = makeRule('sliding-window-log', 1_000_000, 3_600 * SECOND);
  let text: string | undefined = `1 ${NOW}:1${' 1:1'.repeat(9_998)}`;
  text = stepText(text, step('take', long), NOW + 20_000, true).text;
  expect(text?.split(' ')).toHaveLength(10_001);
  text = stepText(text, step('take', long, 5), NOW + 30_000, true).text;
  expect(text?.split(' ')).toHaveLength(10_001);
  expect(text?.endsWith(':6')).toBe(true);
  const lookAt = (us: number) => stepText(text, step('look', long), us, true).answer;
  expect(lookAt(NOW + 30_000)).toMatchObject({ used: 10_005, lastUs: NOW + 30_000 });
  // The unit of the newest entry that was joined expires with the others.
  expect(lookAt(NOW + 3_600 * SECOND + 29_999)).toMatchObject({ used: 6 });
  expect(lookAt(NOW + 3_600 * SECOND + 30_000)).toMatchObject({ used: 0 });
  // Entries that have expired make room.
  const grown = stepText(text, step('take', long), NOW + 3_600 * SECOND + 5_000, true).text;
  expect(grown?.endsWith(':6 3599975000:1')).toBe(true);
});

/** The whole answer, but of a full bucket only that it is full. */
function shown(answer: ReturnType<typeof stepText>['answer']) {
  if (!('tatUs' in answer)) return answer;
  const full = answer.tatUs + (answer.tatNum > 0 ? 1 : 0) <= answer.nowUs;
  return full ? { ...answer, tatUs: 0, tatNum: 0 } : answer;
}
