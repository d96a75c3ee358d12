/** How long a README may be, and how wide a block of code. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { blocksIn, markdownFiles, ROOT } from './snippets.js';

/** What a person reads in the first hour; what is longer belongs to a page of docs/. */
const LINES = 150;
/** What fits without scrolling into a window of 1,000 px: site/.vitepress/theme/site.css says how. */
const COLUMNS = 88;

const readmes = [
  'README.md',
  ...['apps', 'examples', 'packages'].flatMap((folder) =>
    readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}/README.md`),
  ),
].filter((file) => existsSync(join(ROOT, file)));

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** `page:line: columns` of each line of code that is too wide. A block in a list is narrower by its indentation. */
function wideLines(file: string, text: string): string[] {
  return blocksIn(file, text.split('\n')).flatMap(({ indent, firstLine, lines }) =>
    lines.flatMap((line, at) => {
      const columns = [...line].length + indent;
      return columns > COLUMNS ? [`${file}:${firstLine + at}: ${columns} columns`] : [];
    }),
  );
}

describe('a README', () => {
  it.each(readmes)(`has at most ${LINES} lines: %s`, (file) => {
    expect(textOf(file).trimEnd().split('\n').length).toBeLessThanOrEqual(LINES);
  });

  it('is found in every place', () => {
    expect(readmes.length).toBeGreaterThan(20);
  });
});

describe(`a line of code has at most ${COLUMNS} columns`, () => {
  it.each([...new Set([...markdownFiles(), ...readmes])])('in %s', (file) => {
    expect(wideLines(file, textOf(file))).toEqual([]);
  });

  it('which would be told', () => {
    const wide = 'x'.repeat(COLUMNS + 1);
    const page = [wide, '- a list', '', '  ```sh', wide, `  ${wide}`, '  ```', '```', wide, '```'];
    const told = [`a.md:6: ${COLUMNS + 3} columns`, `a.md:9: ${COLUMNS + 1} columns`];
    expect(wideLines('a.md', page.join('\n'))).toEqual(expect.arrayContaining(told));
    expect(wideLines('a.md', ['```', wide.slice(1), '```'].join('\n'))).toEqual([]);
  });
});
