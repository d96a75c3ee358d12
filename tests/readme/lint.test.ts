/** What `npm run lint` finds in pages: phrases, long sentences and terms that nobody explains; too many words. */

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './snippets.js';

interface Lint {
  mistakesInComments(path: string, source: string): Promise<string[]>;
  mistakesOf(page: string, text: string): Promise<string[]>;
  pages(): string[];
  review(
    texts: ReadonlyMap<string, string>,
    most?: number,
  ): Promise<{ mistakes: string[]; words: number }>;
}
const program = join(ROOT, 'tools', 'textlint', 'lint.js');
const { mistakesInComments, mistakesOf, pages, review } = (await import(program)) as Lint;

const mistakes = (text: string, page = 'docs/page.md') => mistakesOf(page, `# Page\n\n${text}\n`);

describe('a page', () => {
  it('says nothing that has a better word', async () => {
    expect(await mistakes('A refusal, whoever\nasks, is over.')).toEqual([
      'docs/page.md:3: "refusal": write rejection',
      'docs/page.md:3: "whoever": write anyone who',
      'docs/page.md:4: "is over": write ended, expired',
    ]);
  });

  it('finds phrases in tables, lists, links and over the end of a line', async () => {
    expect(await mistakes('| a | b |\n|---|---|\n| c | of its own |')).toHaveLength(1);
    expect(await mistakes('- all\n  the same')).toHaveLength(1);
    expect(await mistakes('[what is refused](https://example.com)')).toHaveLength(1);
  });

  it('may use them in code, and as a part of a word', async () => {
    expect(await mistakes('Redis refuses connections.')).toEqual([]);
    expect(await mistakes('`refused` honour floorplan\n\n```ts\n// refused\n```')).toEqual([]);
  });

  it('has sentences of at most 40 words, in which a piece of code is one', async () => {
    const sentence = (words: number) => `Word ${'word '.repeat(words - 2)}end.`;
    expect(await mistakes(`${sentence(40)} ${sentence(40)}`)).toEqual([]);
    expect(await mistakes(sentence(41))).toEqual([
      'docs/page.md:3: a sentence of 41 words (at most 40): "Word word word word word word ..."',
    ]);
    expect(await mistakes(`${'word '.repeat(38)}\`a b c d e f\` end.`)).toEqual([]);
    expect(await mistakes(`| a |\n|---|\n| ${sentence(41)} |`)).toHaveLength(1);
  });

  it('explains our terms, or links to a page that does', async () => {
    expect(await mistakes('A lease ends.')).toEqual([
      expect.stringMatching(/^docs\/page\.md:3: "lease" is not explained: link to docs\/words\.md/),
    ]);
    expect(await mistakes('A lease ends: [words](words.md#inside).')).toEqual([]);
    expect(await mistakes('A lease ends.', 'docs/guide.md')).toEqual([]);
    expect(await mistakes('`lease`')).toEqual([]);
    expect(await mistakes('Redis by Oracle.')).toEqual([]);
    expect(await mistakes('A lease ends.', 'docs/adr/0001-a.md')).toEqual([]);
  });
});

describe('the comments of a source', () => {
  const source = `/**
 * A refusal takes nothing, by
 * itself.
 */
export const refused = 'a refusal'; // all the same
export const refusal = 1; // is over
// whoever
`;

  it('follow the same rules, each at its own line, and code does not', async () => {
    expect(await mistakesInComments('a.ts', source)).toEqual([
      'a.ts:2: "refusal": write rejection',
      'a.ts:2: "by itself": write alone, separately; or leave it out',
      'a.ts:5: "all the same": write anyway, still',
      'a.ts:6: "is over": write ended, expired',
      'a.ts:7: "whoever": write anyone who',
    ]);
  });

  it('have sentences of at most 40 words; comments after code do not join those of the next line', async () => {
    const words = (count: number) => 'word '.repeat(count);
    expect(await mistakesInComments('a.ts', `/** ${words(41)} */`)).toHaveLength(1);
    expect(await mistakesInComments('a.ts', `// ${words(21)}\n// ${words(20)}`)).toHaveLength(1);
    expect(await mistakesInComments('a.ts', `a; // ${words(21)}\nb; // ${words(20)}`)).toEqual([]);
    expect(
      await mistakesInComments('a.ts', `/**\n * ${words(21)}\n * @throws ${words(20)}\n */`),
    ).toEqual([]);
  });
});

describe('all pages', () => {
  const clean = '# Clean\n\nA rejection.\n';
  const dirty = '# Dirty\n\nA refusal.\n';
  const texts = new Map([
    ['clean.md', clean],
    ['dirty.md', dirty],
  ]);

  it('are without mistakes, except what no one reads as prose', async () => {
    expect((await review(texts)).mistakes).toEqual(['dirty.md:3: "refusal": write rejection']);
    expect((await review(new Map([['.changeset/a.md', dirty]]))).mistakes).toEqual([]);
  });

  it('have a number of words together, as wc counts them', async () => {
    const tables = new Map([['a.md', '# A\n\n| b | c-d |\n|---|---|\n']]);
    expect(await review(tables, 8)).toEqual({ mistakes: [], words: 8 });
    expect((await review(tables, 7)).mistakes).toEqual(['8 words; at most 7 are allowed']);
  });

  it('are all but changelogs and the tables of benchmarks', () => {
    const all = pages();
    expect(all).toEqual(expect.arrayContaining(['README.md', 'docs/guide.md', 'site/index.md']));
    expect(all).not.toContain('docs/benchmark-tables.md');
    expect(all.filter((page) => page.includes('CHANGELOG'))).toEqual([]);
  });
});
