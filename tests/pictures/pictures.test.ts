/**
 * The pictures in docs/pictures match the code and the tables. After an intended change:
 * `npx vitest run tests/pictures -u`.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fixedWindow, slidingLog, slidingWindow, tokenBucket } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { algorithms, decide, mostIn } from '../../tools/pictures/algorithms.js';
import { CHARTS, chart, rowsOf } from '../../tools/pictures/benchmarks.js';
import { board, marksOf, readMeasured } from '../../tools/pictures/board.js';
import { limiters } from '../../tools/pictures/limiters.js';
import { overload } from '../../tools/pictures/overload.js';
import { shaper, slots } from '../../tools/pictures/shaper.js';
import { readDashboard } from '../metrics/queries.js';
import { markdownFiles, ROOT } from '../readme/snippets.js';

const FOLDER = join(ROOT, 'docs', 'pictures');
const benchmarks = readFileSync(join(ROOT, 'docs', 'benchmark-tables.md'), 'utf8');

const PICTURES: Readonly<Record<string, () => string | Promise<string>>> = {
  algorithms,
  board,
  limiters,
  overload,
  shaper,
  ...Object.fromEntries(
    Object.entries(CHARTS).map(([name, one]) => [name, () => chart(benchmarks, one)]),
  ),
};

it.each(Object.entries(PICTURES))('%s.svg is what is computed now', async (name, draw) => {
  await expect(await draw()).toMatchFileSnapshot(join(FOLDER, `${name}.svg`));
});

it('every picture is made here, and shown on a page with a text in its place', () => {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.svg'));
  expect(names.sort()).toEqual(
    Object.keys(PICTURES)
      .map((name) => `${name}.svg`)
      .sort(),
  );
  const pages = markdownFiles().map((file) => readFileSync(join(ROOT, file), 'utf8'));
  const shown = (name: string) => {
    const [, alternative = ''] =
      new RegExp(`!\\[([^\\]]+)\\]\\((?:docs/)?pictures/${name}\\)`).exec(pages.join('\n')) ?? [];
    return alternative.length > 40;
  };
  expect(names.filter((name) => !shown(name))).toEqual([]);
});

it('the picture of the algorithms shows what the guide says of them', () => {
  expect(mostIn(10, decide(fixedWindow))).toBe(10); // twice the limit, across a boundary
  expect(mostIn(10, decide(slidingLog))).toBe(5);
  expect(mostIn(10, decide(slidingWindow))).toBeLessThan(10);
  expect(mostIn(10, decide(tokenBucket))).toBeLessThanOrEqual(10); // burst + rate x time
});

it('a chart has every row of its table', () => {
  const names = rowsOf(benchmarks, CHARTS['cost-in-memory']).map(({ name }) => name);
  expect(names).toContain('Spillway apply, token bucket');
  expect(names).toContain('express-rate-limit MemoryStore.increment');
  expect(names.some((name) => name.includes('empty loop'))).toBe(false);
});

describe.each(Object.entries(CHARTS))('the chart %s', (_, one) => {
  it('names whose row it is, in every row', () => {
    const names = rowsOf(benchmarks, one).map(({ name }) => name);
    expect(names.filter((name) => /^the same/.test(name))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('has labels that fit into its width', () => {
    const drawn = chart(benchmarks, one);
    const width = Number(/width="(\d+)"/.exec(drawn)?.[1]);
    // 13 px of a sans-serif font; the title is bold.
    const lengths = [...drawn.matchAll(/<text(?: class="(\w+)")? x="([\d.]+)"[^>]*>([^<]*)</g)].map(
      ([, kind, x, words = '']) => Number(x) + words.length * (kind === 'title' ? 8 : 7.2),
    );
    expect(lengths.length).toBeGreaterThan(10);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(width);
  });

  it('draws our rows in our colour', () => {
    const drawn = chart(benchmarks, one);
    const ours = rowsOf(benchmarks, one).filter(({ name }) => name.startsWith('Spillway'));
    expect(ours.length).toBeGreaterThan(1);
    expect(drawn.match(/<rect class="a"/g)).toHaveLength(ours.length);
  });
});

it('the picture of the shaper shows starts of both processes, 250 ms apart or more', async () => {
  const starts = (await slots()).sort((a, b) => a.startsMs - b.startsMs);
  expect(new Set(starts.map(({ process }) => process))).toEqual(new Set([0, 1]));
  const gaps = starts.slice(1).map(({ startsMs }, at) => startsMs - (starts[at]?.startsMs ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(250);
});

it('the picture of the dashboard is of its queries, and each of them had data', () => {
  const { panels, marks } = readMeasured();
  const asked = readDashboard().panels.filter(({ targets }) => targets);
  expect(panels.map(({ title, queries }) => ({ title, queries }))).toEqual(
    asked.map(({ title, targets = [] }) => ({ title, queries: targets.map(({ expr }) => expr) })),
  );
  expect(marks.flatMap(({ queries }) => queries)).toEqual(
    readDashboard().annotations.list.map(({ expr }) => expr),
  );
  expect(marksOf(readMeasured()).length).toBeGreaterThan(0);
  const heights = panels.map(({ title, series }) => ({
    title,
    highest: Math.max(...series.flatMap(({ points }) => points.map((value) => value ?? 0))),
  }));
  expect(heights.filter(({ highest }) => !(highest > 0))).toEqual([]);
});

it('the page of the dashboard names the versions that were measured', () => {
  const page = readFileSync(join(ROOT, 'docs', 'metrics.md'), 'utf8').replaceAll(/\s+/g, ' ');
  const { prometheus, redis, node } = readMeasured().versions;
  for (const name of [`Prometheus ${prometheus}`, `Redis ${redis}`, `Node ${node}`]) {
    expect(page).toContain(name);
  }
});
