/** docs/stored-format.md: each name and text on it is what the stores write. */

import { readFileSync } from 'node:fs';
import * as core from '@spillway/core';
import * as store from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { redisStoreAt } from '@spillway/redis/testing';
import { Redis } from 'ioredis';
import { redisUrl } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MapBackend } from '../conformance/state-backends.js';

const page = readFileSync(new URL('../../docs/stored-format.md', import.meta.url), 'utf8');
const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;
const BERLIN = store.calendarNamed('month@Europe/Berlin');
/** From the start of the clocks, 2026-01-01, to the month of the example. */
const IN_NOVEMBER = 310 * 86_400 * SECOND;

/** The rows of the page whose first cell begins with `what`, as cells. */
function row(what: string): string[] {
  const line = page.split('\n').find((each) => each.startsWith(`| ${what}`));
  return (line ?? '').split('|').map((cell) => cell.trim());
}

/** The examples in the fourth cell. */
const examples = (what: string) =>
  [...(row(what)[3] ?? '').matchAll(/`([^`]+)`/g)].map(([, text]) => text);

/** The algorithms that core exports as values. Their rows begin with these names. */
const RATES = Object.entries(core).flatMap(([name, value]) =>
  'makeRule' in value
    ? [[`\`${name}\` |`, store.makeRule(value.name as core.Algorithm, 3, MINUTE)] as const]
    : [],
);

describe('codes', () => {
  it.each([
    ...RATES.filter(([, { machine }]) => machine !== 'bucket'),
    ['`tokenBucket`', store.makeRule('token-bucket', 3, 7 * SECOND, 1)],
    ['`fixedWindow`, ', store.makeRule('fixed-window', 3, MINUTE, 3, 'first-request')],
    ['`penalty: lockFor(...)`', store.makeLockRule(3, SECOND, [SECOND], MINUTE)],
    ['`distinct`', store.makeDistinctRule(3, MINUTE)],
    ['`window: calendar(...)`', store.makeCalendarRule(3, BERLIN)],
    ['`createShaper`', store.makeShaperRule(3, SECOND, 1, SECOND)],
    ['`concurrencyLimit`', store.makeLeasesRule(3, MINUTE)],
  ] satisfies (readonly [string, store.Rule])[])('%s', (what, { code }) => {
    expect(examples(what), `docs/stored-format.md, Codes: row "| ${what}"`).toEqual([code]);
    expect(row(what)[2]).toMatch(new RegExp(`^\`${code.charAt(0)}\``));
  });
});

/** Acts on one key, and the example on the page that shows what they store. */
interface Case {
  readonly what: string;
  readonly rule: store.Rule;
  readonly acts: readonly (Partial<core.Step> & { readonly afterUs?: number })[];
  readonly example: number;
}

const owner = 'a'.repeat(16);
const CASES: readonly Case[] = [
  // An algorithm that is not below has a row that begins with its name.
  ...RATES.map(([, rule]) => ({ what: rule.machine, rule, acts: [{}, {}], example: 0 })).filter(
    ({ what }) => !['bucket', 'window', 'log'].includes(what),
  ),
  {
    what: 'token bucket',
    rule: store.makeRule('token-bucket', 30, MINUTE),
    acts: [{}],
    example: 0,
  },
  { what: 'token bucket', rule: store.makeRule('token-bucket', 3, SECOND), acts: [{}], example: 1 },
  {
    what: 'shaper',
    rule: store.makeShaperRule(2, SECOND, 1, MINUTE),
    acts: [{}],
    example: 0,
  },
  {
    what: 'shaper',
    rule: store.makeShaperRule(3, SECOND, 1, MINUTE),
    acts: [{}],
    example: 1,
  },
  { what: 'windows', rule: store.makeRule('fixed-window', 3, MINUTE), acts: [{}, {}], example: 0 },
  {
    what: 'calendar',
    rule: store.makeCalendarRule(3, BERLIN),
    acts: [{ afterUs: IN_NOVEMBER }, {}],
    example: 0,
  },
  {
    what: 'limit with a penalty',
    rule: store.makeLockRule(2, MINUTE, [5 * MINUTE], MINUTE),
    acts: [{}, {}],
    example: 0,
  },
  {
    what: 'claim',
    rule: store.makeClaimsRule(30 * SECOND, MINUTE),
    acts: [{ claim: { id: 'order 17', owner } }],
    example: 0,
  },
  {
    what: 'log',
    rule: store.makeRule('sliding-window-log', 9, MINUTE),
    acts: [{ cost: 3 }, { afterUs: 5_000, cost: 2 }],
    example: 0,
  },
  {
    what: 'distinct items',
    rule: store.makeDistinctRule(9, MINUTE),
    acts: [{ items: [`${'00'.repeat(15)}ff`] }],
    example: 0,
  },
  {
    what: 'permits',
    rule: store.makeLeasesRule(3, MINUTE),
    acts: [{ lease: { id: 'a1b2', critical: false } }],
    example: 0,
  },
];

async function act(on: store.Store, clock: ManualClock, { rule, acts }: Case): Promise<void> {
  for (const { afterUs = 0, ...rest } of acts) {
    clock.setUs(clock.nowUs() + afterUs);
    const common = { op: 'take', limiter: 'api', key: 'ada', cost: 1, binding: true } as const;
    expect(await on.apply([{ ...common, rule, ...rest }])).toMatchObject([{ allowed: true }]);
  }
}

describe('the examples', () => {
  it.each(CASES)('$what, $example, in any database', async (one) => {
    const backend = new MapBackend();
    await act(store.stateStore(backend), backend.clock, one);
    const [[name, { text }] = ['', { text: '' }]] = [...backend.rows];
    expect(text, `docs/stored-format.md, Texts: row "| ${one.what}"`).toBe(
      examples(one.what)[one.example],
    );
    expect(name.startsWith(`1{ada}api}${one.rule.code}`)).toBe(true);
  });

  it('value, in any database', async () => {
    const backend = new MapBackend();
    const bytes = new TextEncoder().encode('{"ok":true}');
    const name = { limiter: 'api', key: 'ada', id: 'order 17' };
    await store.stateStore(backend).values?.set(name, bytes, 86_400 * SECOND);
    expect([...backend.rows].map(([key, { text }]) => [key, text])).toEqual([
      ['1{ada}api}v:order 17', examples('value')[0]],
    ]);
  });
});

describe.skipIf(redisUrl === null)('the examples in Redis', () => {
  it.each(CASES)('$what, $example', async (one) => {
    const redis = new Redis(redisUrl ?? '');
    onTestFinished(() => redis.disconnect());
    const prefix = `page-${Math.random()}:`;
    const clock = new ManualClock();
    await act(redisStoreAt(redis, clock, { prefix }), clock, one);
    const names = await redis.keys(`${prefix}1{ada}api}*`);
    expect(names).toHaveLength(1);
    const [name = ''] = names;
    expect(name).toContain(`api}${one.rule.code}`);
    const told = row(one.what)[4] ?? '';
    const kind = /^a sorted set/.test(told) ? 'zset' : told.includes('a list') ? 'list' : 'string';
    expect(await redis.type(name)).toBe(kind);
    if (one.what === 'distinct items') {
      const bytes = Buffer.from(examples(one.what)[0]?.slice(1) ?? '', 'base64');
      expect(await redis.getBuffer(name)).toEqual(Buffer.concat([Buffer.from('1'), bytes]));
    } else if (kind === 'string') {
      expect(told).toBe('the same');
      expect(await redis.get(name)).toBe(examples(one.what)[one.example]);
    }
    if (kind === 'zset') {
      const [, [id, endsUs] = []] = JSON.parse(`[1,${examples('permits')[0]?.slice(2)}`);
      expect(await redis.zrange(name, '0', '-1', 'WITHSCORES')).toEqual([id, `${endsUs}`]);
    }
  });
});
