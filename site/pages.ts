/** Which files of the repository are pages of the site, and at which address. The files stay where they are. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT: string = join(import.meta.dirname, '..');
export const REPOSITORY = 'https://github.com/spillway/spillway';

/** Where the page of a source is: its path in the repository to its path in the site. Both end in `.md`. */
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

/** The README of the repository says the same as the home page, so a link to it leads there. */
export const addressOf = (source: string): string | undefined =>
  source === 'README.md' ? 'index.md' : PAGES.get(source);

const SOURCES = new Map([...PAGES].map(([source, page]) => [page, source]));

/** The source of a page, whether a tool names the page or its source. */
export const sourceOf = (path: string): string => SOURCES.get(path) ?? path;

/** The first heading, without marks. */
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
