/** docs/comparison.md names the versions that the tests have tried, and its claims about costs were measured. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rowsOf } from '../../tools/pictures/benchmarks.js';
import { ROOT } from './snippets.js';

const pageOf = (...path: string[]): string => readFileSync(join(ROOT, ...path), 'utf8');
const page = pageOf('docs', 'comparison.md');
const benchmarks = pageOf('docs', 'benchmarks.md');
const tables = pageOf('docs', 'benchmark-tables.md');

/** Of the first table, in which each package has its version. */
const versions = new Map(
  [...page.matchAll(/^\| (\S+) (\d+\.\d+\.\d+) \|/gm)].map(([, name = '', version]) => [
    name,
    version,
  ]),
);

/** What we have installed; not @upstash/ratelimit, which the page says was not tried. */
const catalog = pageOf('pnpm-workspace.yaml');

/** The numbers of a row of the benchmarks, by its first cell, ours first. */
const numbersOf = (row: string): number[] => {
  const line = benchmarks.split('\n').find((text) => text.startsWith(`| ${row} |`)) ?? '';
  const cells = line.slice(`| ${row} |`.length);
  return [...cells.matchAll(/(?<= )-?\d+( \d{3})*(\.\d+)?(?=[ ,])/g)].map(([number]) =>
    Number(number.replaceAll(' ', '')),
  );
};

describe('versions', () => {
  it('are told of every package that we have migrations from', () => {
    expect(versions.size).toBe(8);
  });

  it.each([...versions].filter(([name]) => name !== '@upstash/ratelimit'))(
    '%s %s is the one that was tried',
    (name, version) => {
      expect(catalog).toMatch(new RegExp(`^\\s*['"]?${name}['"]?: ${version}$`, 'm'));
    },
  );

  it('tells how many behaviours were tried', () => {
    const behaviours = pageOf('docs', 'migrating', 'behaviours.md');
    const tried = [...behaviours.matchAll(/^\| \S+ \d+\.\d+\.\d+ \| (\d+) \|/gm)];
    const sum = tried.reduce((total, [, count]) => total + Number(count), 0);
    expect(page).toContain(`has ${sum} behaviours`);
  });
});

describe('costs', () => {
  it.each([
    'Express 5',
    'Hono 4 on Node',
    'NestJS 11 on Express',
    'in memory, 1 000 000 keys: bytes a key',
  ])('%s: ours are the least', (row) => {
    const [ours = Number.NaN, ...theirs] = numbersOf(row);
    expect(theirs.length).toBeGreaterThan(0);
    expect(ours).toBeLessThan(Math.min(...theirs));
  });

  it('koa-ratelimit costs less', () => {
    const [ours = Number.NaN, theirs = Number.NaN] = numbersOf('Koa 3');
    expect(theirs).toBeLessThan(ours);
  });

  it('in Redis we are slower one at a time', () => {
    const [one = Number.NaN, ...others] = numbersOf(
      'in Redis, one at a time: µs until half are answered',
    );
    expect(one).toBeGreaterThan(Math.max(...others));
  });

  it('in Redis we answer about as many a hundred at a time', () => {
    const [many = Number.NaN, ...rest] = numbersOf('in Redis, 100 at a time: decisions a second');
    expect(many).toBeGreaterThan(0.85 * Math.max(...rest));
  });

  it.each(['client CPU µs', 'server CPU µs'])('and take less %s for each', (column) => {
    const rows = rowsOf(tables, { title: '', alternative: '', table: '100 in flight', column });
    const costOf = (name: string): number =>
      rows.find((row) => row.name.includes(name))?.value ?? Number.NaN;
    const ours = costOf('createLimiter().consume');
    expect(ours).toBeLessThan(costOf('rate-limit-redis'));
    expect(ours).toBeLessThan(costOf('RateLimiterRedis.consume'));
  });

  it('bundles are as much larger as it says', () => {
    const [ours = Number.NaN] = numbersOf('@spillway/express');
    const size = (name: string): number => numbersOf(name)[0] ?? Number.NaN;
    expect((ours / size('express-rate-limit')).toFixed(1)).toBe('1.6');
    expect((numbersOf('@spillway/koa')[0] ?? 0) / size('koa-ratelimit')).toBeGreaterThan(10);
    expect((numbersOf('@spillway/hono')[0] ?? 0) / size('hono-rate-limiter')).toBeGreaterThan(10);
  });
});
