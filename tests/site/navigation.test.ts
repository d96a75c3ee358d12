/** The menu of the site has every page of docs/, and links of the repository become links of the site. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { slugify, targetOf } from '../../site/links.js';
import { sidebar } from '../../site/navigation.js';
import { PAGES, ROOT } from '../../site/pages.js';

const linked = sidebar().flatMap(({ items = [] }) => items.map(({ link }) => `${link}.md`));
const GITHUB = 'https://github.com/spillway/spillway';

it('has every page of docs/ and every package once', () => {
  const owed = [...PAGES].filter(([source]) => /^(docs|packages)\//.test(source));
  expect(owed.length).toBeGreaterThan(80);
  const missing = owed.filter(([, page]) => !linked.includes(`/${page}`));
  expect(missing.map(([source]) => `${source}: name it in site/navigation.ts`)).toEqual([]);
  expect(linked.filter((link, at) => linked.indexOf(link) !== at)).toEqual([]);
});

it('opens no group of the sidebar but that of the page that is read', () => {
  expect(sidebar().filter(({ collapsed }) => collapsed !== true)).toEqual([]);
});

it('shows sources that there are', () => {
  expect([...PAGES.keys()].filter((source) => !existsSync(join(ROOT, source)))).toEqual([]);
});

describe('a link in a page', () => {
  it.each([
    ['docs/guide.md', 'words.md', '/words.md'],
    ['docs/guide.md', '../packages/koa/README.md#fields', '/packages/koa.md#fields'],
    ['docs/README.md', '../packages/koa', '/packages/koa.md'],
    ['packages/koa/README.md', '../../docs/README.md#start', '/documentation.md#start'],
    ['docs/recipes/login.md', '../../README.md', '/index.md'],
    ['docs/README.md', 'adr', `${GITHUB}/tree/main/docs/adr`],
    ['CONTRIBUTING.md', 'tests/tiers.ts', `${GITHUB}/blob/main/tests/tiers.ts`],
  ])('of %s to %s leads to %s', (source, href, target) => {
    expect(targetOf(source, href)).toBe(target);
  });

  it('to nothing stops the build', () => {
    expect(() => targetOf('docs/guide.md', 'lost.md')).toThrow(
      'docs/guide.md: lost.md is not there',
    );
  });
});

it('headings have the anchors of GitHub', () => {
  expect(slugify('`onStoreError`: when Redis is down?')).toBe('onstoreerror-when-redis-is-down');
});
