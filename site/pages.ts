/** Which files of the repository are pages of the site, and their addresses. The files are not moved or copied. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT: string = join(import.meta.dirname, '..');
export const REPOSITORY = 'https://github.com/spillway/spillway';

/** Maps the path of a source in the repository to the path of its page in the site. Both end in `.md`. */
export const PAGES: ReadonlyMap<string, string> = new Map([
  ['site/index.md', 'index.md'],
  ['docs/README.md', 'documentation.md'],
  ['CONTRIBUTING.md', 'contributing.md'],
  ['SECURITY.md', 'security.md'],
  ...readmesIn('packages'),
  ...readmesIn('examples'),
  ...markdownUnder('docs')
    .filter((source) => source !== 'docs/README.md')
    .map((source): [string, string] => [source, source.slice('docs/'.length)]),
]);

/** Links to the repository's README lead to the home page, which says the same. */
export const addressOf = (source: string): string | undefined =>
  source === 'README.md' ? 'index.md' : PAGES.get(source);

const SOURCES = new Map([...PAGES].map(([source, page]) => [page, source]));

/** The source of a page, if `path` is the path of the page or already that of the source. */
export const sourceOf = (path: string): string => SOURCES.get(path) ?? path;

/** The first heading, without Markdown's marks. */
export function titleOf(source: string): string {
  const heading = /^# (.+)$/m.exec(readFileSync(join(ROOT, source), 'utf8'))?.[1] ?? source;
  return heading.replaceAll(/[`*]/g, '');
}

function readmesIn(folder: string): [string, string][] {
  return readdirSync(join(ROOT, folder))
    .map((name): [string, string] => [`${folder}/${name}/README.md`, `${folder}/${name}.md`])
    .filter(([source]) => existsSync(join(ROOT, source)));
}

function markdownUnder(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return markdownUnder(path);
      return entry.name.endsWith('.md') ? [path] : [];
    })
    .sort();
}
