/** The figures of the page about choosing a number are those of the nine days of logs, if these are available. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { replay } from '@spillway/cli/replay';
import { rateLimit, slidingWindow } from '@spillway/core';
import { expect, it } from 'vitest';
import { ALGORITHMS } from '../../packages/cli/src/replay/algorithms.js';
import { reportText } from '../../packages/cli/src/replay/report-text.js';
import { blocksIn, ROOT } from '../readme/snippets.js';
import { LOG_FOLDER } from './access-log.js';

const PAGE = 'docs/choosing-a-number.md';
const page = readFileSync(join(ROOT, PAGE), 'utf8');
const figures = blocksIn(PAGE, page.split('\n'))
  .filter(({ info }) => info === 'text')
  .flatMap(({ lines }) => lines)
  .filter((line) => line !== '');

it('the page shows figures, in at most 900 words', () => {
  expect(figures.length).toBeGreaterThan(12);
  expect(page.split(/\s+/).length).toBeLessThan(900);
});

it('the table of limits has a column for every algorithm', () => {
  const head = figures.find((line) => line.startsWith('LIMIT PER')) ?? '';
  expect(head.split(/ {2,}/).slice(1)).toEqual(ALGORITHMS.map(({ name }) => name));
});

if (existsSync(LOG_FOLDER)) {
  const files = readdirSync(LOG_FOLDER).filter((name) => name.endsWith('.gz'));
  const logs = files.map((name) => join(LOG_FOLDER, name));
  const policy = rateLimit({ name: 'per-address', limit: 20, window: '1m' });

  it('they are what the command prints', async () => {
    const report = await replay({ logs, policy });
    const text = stripVTControlCharacters(reportText(report));
    for (const line of figures) expect(text).toContain(line);
    expect(report).toMatchObject({ requests: 10_394, unparsed: 5_881, outOfOrder: 0 });
    expect(report.policy.limiters).toMatchObject([{ shareOfFirst: expect.closeTo(0.42, 2) }]);
    expect(page).toContain('Here it sent 42 % of them.');
  });

  it('the other policy hits 13 callers more', async () => {
    const compare = rateLimit({ limit: 20, window: '1m', algorithm: slidingWindow });
    const report = await replay({ logs, policy, compare });
    expect(report.compare).toMatchObject({ newlyHit: 13, noLongerHit: 0 });
    expect(page).toContain('16 callers\ninstead of 3. The other 13');
  });

  it('with 20 per minute, a burst of 316 rejects nobody', async () => {
    const bursts = rateLimit({ name: 'bursts', limit: 20, window: '1m', burst: 316 });
    const report = await replay({ logs, policy: bursts });
    expect(report.policy.rejected).toEqual({ low: 0, high: 0 });
  });
}
