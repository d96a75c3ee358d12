/** Our part of a bundle stays within its budget, and docs/benchmarks.md says how much that is. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './packages.js';
import { bundleSize, PROGRAMS } from './sizes.js';

/** A budget that is wider than this tells readers of a size that nothing has, and lets it grow unseen. */
const SLACK = 1000;

/** Bytes, by the first cell of each row of the table. */
const budgets = new Map(
  [...section('## Size').matchAll(/^\| (.+?) \| (\d+\.\d) \|/gm)].map(([, name = '', kB]) => [
    name,
    Number(kB) * 1000,
  ]),
);

it('has a budget for every program', () => {
  expect([...budgets.keys()]).toEqual(Object.keys(PROGRAMS));
});

it.each(Object.entries(PROGRAMS))('%s', async (name, program) => {
  const size = await bundleSize(program);
  const budget = budgets.get(name) ?? 0;
  expect(size, 'larger: find out by what, or raise the budget and say why').toBeLessThanOrEqual(
    budget,
  );
  expect(size, 'smaller: lower the budget').toBeGreaterThan(budget - SLACK);
});

/** The text under a heading of docs/benchmarks.md. */
function section(heading: string): string {
  const page = readFileSync(join(ROOT, 'docs', 'benchmarks.md'), 'utf8');
  const [, text = ''] = page.split(`\n${heading}\n`);
  return text.split('\n## ')[0] ?? '';
}
