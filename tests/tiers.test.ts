/** Every test file runs when it should: see `tiers.ts`. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from 'spillway-testkit';
import { expect, it } from 'vitest';
import { importsOf, isIn, testFiles } from './files.js';
import { ALONE, LATE, TIERS, WAITING } from './tiers.js';

const FILES = testFiles();
const named = TIERS.flatMap(({ names }) => names);
const quick = FILES.filter((file) => !isIn(named, file));

it('finds every test file in one of the places that are run', () => {
  const lost = FILES.filter((file) => !/^(packages\/[^/]+\/test|tests)\/.*\.test\.ts$/.test(file));
  expect(lost).toEqual([]);
  expect(FILES.length).toBeGreaterThan(150);
});

it('has each file in one tier', () => {
  const twice = FILES.filter((file) => TIERS.filter(({ names }) => isIn(names, file)).length > 1);
  expect(twice).toEqual([]);
});

it('names no file and no folder that is gone', () => {
  expect(ALONE.filter((name) => !isIn(named, name))).toEqual([]);
  const apart = [...WAITING, ...LATE];
  expect(apart.filter((name) => !isIn(ALONE, name))).toEqual([]);
  const all = [...named, ...ALONE, ...apart];
  expect(all.filter((name) => !FILES.some((file) => isIn([name], file)))).toEqual([]);
});

it('runs all tiers in .ci/run, by the command for all tests', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(readFileSync(join(ROOT, '.ci', 'run'), 'utf8')).toMatch(
    /^npm run test:all .*\|\| status=/m,
  );
  expect(scripts['test:all']).toMatch(/&& vitest run$/); // neither a project nor a path
  expect(scripts.test).toMatch(/&& vitest run --project=quick\* --project=usual\*$/);
  expect(scripts['test:quick']).toMatch(/^vitest run --project=quick\*$/);
});

it('starts neither a Redis nor a process in what is quick', () => {
  const starters =
    /^(node:child_process|miniflare|spillway-testkit\/(redis|processes|redis-process))$/;
  const guilty = quick.filter((file) => importsOf(file).some((name) => starters.test(name)));
  expect(guilty).toEqual([]);
});

it('runs all that uses a server of Redis on every server, and nothing else there', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const [, told = ''] =
    /&& vitest run --project=usual\* --project=slow\* (.+)$/.exec(scripts['test:redis']) ?? [];
  const places = told.split(' ');
  const users = FILES.filter((file) => importsOf(file).includes('spillway-testkit/redis'));
  expect(users.filter((file) => !places.some((place) => file.startsWith(place)))).toEqual([]);
  expect(places.filter((place) => !users.some((file) => file.startsWith(place)))).toEqual([]);
});
