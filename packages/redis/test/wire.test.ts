/** What a store sends, word by word: exactly what takes.lua and the Lua of each algorithm read. */

import type { Step } from '@spillway/core';
import { makeClaimsRule, makeLeasesRule, makeRule, makeShaperRule } from '@spillway/core/store';
import { expect, it } from 'vitest';
import { type RedisClient, redisStore } from '../src/index.js';
import { take } from './steps.js';

/** The arguments after the deadline of one call for `groups`, joined by spaces. */
async function sent(...groups: readonly (readonly Step[])[]): Promise<string> {
  const calls: string[][] = [];
  const client: RedisClient = {
    state: 'ready',
    evalsha: (_sha, _keys, args) => {
      calls.push(args);
      return Promise.resolve([]);
    },
    eval: () => expect.unreachable(),
    onceChanged: () => () => {},
  };
  const store = redisStore(client);
  await Promise.allSettled(groups.map((group) => store.apply(group)));
  expect(calls).toHaveLength(1);
  return (calls[0] as string[]).slice(1).join(' ');
}

const bucket = makeRule('token-bucket', 10, 60_000_000);
const thirds = makeRule('token-bucket', 7, 60_000_000);
const fixed = makeRule('fixed-window', 3, 60_000_000);
const anchored = makeRule('fixed-window', 3, 60_000_000, 3, 'first-request');
const sliding = makeRule('sliding-window-counter', 3, 60_000_000);
const log = makeRule('sliding-window-log', 3, 60_000_000);
const paced = makeShaperRule(4, 1_000_000, 2, 30_000_000);
const sevenths = makeShaperRule(7, 1_000_000, 2, 30_000_000);
const permits = makeLeasesRule(9, 60_000_000, 0.2);
const claims = makeClaimsRule(30_000_000, 60_000_000);
const claim = { id: 'an id', owner: 'aaaaaaaaaaaaaaaa', note: 'a note' };
const receipt = { atUs: 1_000_000_007, num: 3, units: 2 };
const lease = { id: 'a-lease', critical: true };

it.each<[string, Partial<Step> & Pick<Step, 'rule'>, string]>([
  ['a take of nothing', { rule: bucket, cost: 0 }, 'g 4 0 60000000 1'],
  ['a record', { rule: bucket, op: 'record', cost: 2 }, 'g 3 12000000 60000000 1'],
  ['a look', { rule: bucket, op: 'look' }, 'g 4 6000000 60000000 1'],
  ['a put', { rule: thirds, op: 'put', receipt }, 'g 5 8571428 60000000 7 4 0 1000000007 3'],
  [
    'a put of more',
    { rule: bucket, op: 'put', cost: 9, receipt },
    'g 5 12000000 60000000 1 1000000007 3',
  ],
  ['a put of nothing', { rule: bucket, op: 'put' }, 'g 9 0 60000000 1'],
  ['a take that may wait', { rule: paced }, 'q 1 250000 30500000 250000 1'],
  ['a take that may wait, of sevenths', { rule: sevenths }, 'q 1 142857 30285714 142857 7 1 2 1'],
  ['too large a take that may wait', { rule: paced, cost: 3 }, 'q 1 30500001 30500000 250000 1'],
  [
    'a put to a queue',
    { rule: paced, op: 'put', receipt },
    'q 5 250000 30500000 250000 1 1000000007 3',
  ],
  [
    'a record of too much',
    { rule: paced, op: 'record', cost: 3 },
    'q 3 750000 30500000 250000 1 1',
  ],
  ['a hold', { rule: paced, op: 'hold', cost: 0, holdUs: 9 }, 'q 7 0 30500000 250000 1 9'],
  ['a take of a window', { rule: fixed }, 'w 1 1 3 60000000 0'],
  ['a take of an anchored window', { rule: anchored }, 'w 1 1 3 60000000 2'],
  ['too large a take of a window', { rule: sliding, cost: 9 }, 'w 1 4 3 60000000 1'],
  [
    'a put to a window',
    { rule: fixed, op: 'put', cost: 9, receipt },
    'w 5 2 3 60000000 0 1000000007',
  ],
  ['a take of a log', { rule: log }, 'l 1 1 3 60000000'],
  ['a put to a log', { rule: log, op: 'put', cost: 9, receipt }, 'l 5 9 3 60000000 1000000007 2'],
  ['a take of a permit', { rule: permits, lease }, 'p 1 1 9 8 60000000 a-lease'],
  ['a put of a permit', { rule: permits, op: 'put', lease }, 'p 5 1 9 8 60000000 a-lease'],
  ['a take of a claim', { rule: claims, claim }, 'c 1 30000000 60000000 aaaaaaaaaaaaaaaa'],
  [
    'a put of a claim',
    { rule: claims, op: 'put', claim },
    'c 5 30000000 60000000 aaaaaaaaaaaaaaaa',
  ],
  [
    'a claim that is done',
    { rule: claims, op: 'done', claim },
    'c 8 30000000 60000000 aaaaaaaaaaaaaaaaa note',
  ],
])('sends %s', async (_, step, words) => {
  expect(await sent([take('ada', step)])).toBe(`1 1 ${words}`);
  // A call with fewer words is read by the script as takes of one bucket each.
  expect(`1 1 ${words}`.split(' ').length).toBeGreaterThan(6);
});

it.each<[string, Partial<Step> & Pick<Step, 'rule'>, string, string]>([
  ['a take', { rule: bucket }, '6000000 60000000', 'g 1 6000000 60000000 1'],
  ['a take of sevenths', { rule: thirds }, '8571428 60000000 7 4 0', 'g 1 8571428 60000000 7 4 0'],
  [
    'too large a take',
    { rule: thirds, cost: 2 ** 50 },
    '60000001 60000000 7 0 0',
    'g 1 60000001 60000000 7 0 0',
  ],
  [
    'a take in shadow',
    { rule: bucket, binding: false },
    '6000000 60000000',
    'g 2 6000000 60000000 1',
  ],
])(
  'of %s of a bucket sends only the numbers, if nothing else is in the call',
  async (_, step, alone, words) => {
    const [one, other] = [[take('ada', step)], [take('bob', step)]];
    expect(await sent(one)).toBe(alone);
    expect(await sent(one, other)).toBe(alone);
    expect(await sent(one, [take('eve', { rule: log })], other)).toBe(
      `1 1 ${words} 1 1 l 1 1 3 60000000 1 1 ${words}`,
    );
  },
);

it('sends once what groups have in common, and the ids of each', async () => {
  const groups = ['ada', 'bob'].map((key) => [
    take(key, { rule: fixed }),
    take(key, { rule: permits, limiter: 'fleet', lease: { id: key, critical: false } }),
  ]);
  expect(await sent(...groups, [take('eve', { rule: log })])).toBe(
    '2 2 w 1 1 3 60000000 0 p 1 0 9 8 60000000 ada bob 1 1 l 1 1 3 60000000',
  );
});
