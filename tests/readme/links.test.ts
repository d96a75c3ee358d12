/** A link from one of our pages to another leads somewhere. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { markdownFiles, ROOT } from './snippets.js';

const RELATIVE_LINK = /\]\((?![a-z]+:|#)([^)#\s]+)[^)]*\)/g;

it.each(markdownFiles())('links of %s', (file) => {
  const text = readFileSync(join(ROOT, file), 'utf8').replace(/^(```+)[\s\S]*?^\1/gm, '');
  const targets = [...text.matchAll(RELATIVE_LINK)].map(([, target = '']) => target);
  expect(targets.filter((target) => !existsSync(join(ROOT, dirname(file), target)))).toEqual([]);
});
