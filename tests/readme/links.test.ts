/** A link from one of our pages to another leads somewhere, and to a heading that is there. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { markdownFiles, ROOT } from './snippets.js';

const LINK = /\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?[^)]*\)/g;

/** The text of a page without its blocks of code. */
const textOf = (file: string): string =>
  readFileSync(join(ROOT, file), 'utf8').replace(/^(```+)[\s\S]*?^\1/gm, '');

const linksOf = (file: string) =>
  [...textOf(file).matchAll(LINK)].map(([, path = '', anchor]) => ({
    path: path === '' ? file : join(dirname(file), path),
    anchor,
  }));

/** Anchors, as GitHub makes them from headings. Of several equal ones, all but the first have a number. */
function anchorsOf(file: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of textOf(file).matchAll(/^#+ (.*)$/gm)) {
    const anchor = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-');
    let count = 1;
    let own = anchor;
    while (anchors.has(own)) own = `${anchor}-${count++}`;
    anchors.add(own);
  }
  return anchors;
}

it.each(markdownFiles())('links of %s', (file) => {
  const links = linksOf(file);
  expect(links.filter(({ path }) => !existsSync(join(ROOT, path)))).toEqual([]);
  const toHeadings = links.filter(({ path, anchor }) => anchor && path.endsWith('.md'));
  const lost = toHeadings.filter(({ path, anchor = '' }) => !anchorsOf(path).has(anchor));
  expect(lost).toEqual([]);
});
