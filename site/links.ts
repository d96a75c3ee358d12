/** The links in our pages are written for the repository. This makes them work on the site too. */

import { existsSync, statSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';
import { addressOf, REPOSITORY, ROOT, sourceOf } from './pages.js';

/** Links to pages lead to the site's pages, all other links to the file on GitHub. */
export function rewriteLinks(md: MarkdownRenderer): void {
  md.core.ruler.push('links-of-the-repository', (state) => {
    const source = sourceOf(relative(ROOT, state.env.realPath ?? state.env.path));
    for (const token of state.tokens.flatMap((block) => block.children ?? [])) {
      const href = token.type === 'link_open' ? String(token.attrGet('href')) : '';
      if (href !== '' && !/^([a-z]+:|#)/.test(href)) token.attrSet('href', targetOf(source, href));
    }
  });
}

/** The address on the site or on GitHub of a relative link in a source. */
export function targetOf(source: string, href: string): string {
  const [path = '', anchor] = href.split('#');
  const target = posix.normalize(posix.join(posix.dirname(source), path)).replace(/\/$/, '');
  const hash = anchor === undefined ? '' : `#${anchor}`;
  const page = addressOf(target) ?? addressOf(`${target}/README.md`);
  if (page !== undefined) return `/${page}${hash}`;
  if (target.startsWith('site/api/')) return `/${target.slice('site/'.length)}${hash}`;
  if (!existsSync(join(ROOT, target))) throw new Error(`${source}: ${href} is not there`);
  const kind = statSync(join(ROOT, target)).isDirectory() ? 'tree' : 'blob';
  return `${REPOSITORY}/${kind}/main/${target}${hash}`;
}

/** The anchor of a heading, as on GitHub. */
export function slugify(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}
