/**
 * Reads our pages and comments as an editor would: phrases, long sentences, in pages terms that nobody explains; and
 * counts the words of pages. Pages
 * of not-yet.json may still have mistakes. A page that has none any more must leave that list, which so only shrinks.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TextlintKernel } from '@textlint/kernel';
import markdown from '@textlint/textlint-plugin-markdown';
import { commentsOf } from './comments.js';
import { phrases } from './phrases.js';
import { sentences } from './sentences.js';
import { terms } from './terms.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Words that all pages may have together, outside of those that are not yet rewritten. */
const MOST_WORDS = 65_000;

const kernel = new TextlintKernel();
const plugins = [{ pluginId: 'markdown', plugin: markdown.default ?? markdown }];

async function mistakesBy(chosen, page, text) {
  const rules = Object.entries(chosen).map(([ruleId, rule]) => ({
    ruleId,
    rule,
    options: { page },
  }));
  const { messages } = await kernel.lintText(text, { filePath: page, ext: '.md', plugins, rules });
  return messages.map(({ line, message }) => `${page}:${line}: ${message}`);
}

/** The mistakes of a page, as `page:line: mistake`. */
export const mistakesOf = (page, text) => mistakesBy({ phrases, sentences, terms }, page, text);

/** The mistakes in the comments of a source, in the same form. */
export const mistakesInComments = (path, source) =>
  mistakesBy({ phrases, sentences }, path, commentsOf(path, source));

const tracked = (...patterns) =>
  execFileSync('git', ['ls-files', '-z', ...patterns], { cwd: ROOT, encoding: 'utf8' })
    .split('\0')
    .filter((path) => path !== '');

/** The sources of packages. */
export const sources = () =>
  tracked('packages/*/src/*.ts').filter((path) => !path.endsWith('.d.ts'));

/** Pages that people write and read: no changelogs, and no tables that `npm run bench` writes. */
export function pages() {
  return tracked('*.md')
    .filter((path) => path !== 'docs/benchmark-tables.md')
    .filter((path) => !/(^|\/)(CHANGELOG\.md$|\.changeset\/)/.test(path));
}

/** Words have a letter or a digit; the bars of a table are none. */
export const wordsIn = (text) =>
  text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** What is wrong with the pages, given their texts and the list of those that are not yet rewritten. */
export async function review(texts, notYet, most = MOST_WORDS) {
  const mistakes = [];
  for (const [page, text] of texts) {
    const found = await mistakesOf(page, text);
    if (!notYet.includes(page)) mistakes.push(...found);
    else if (found.length === 0) mistakes.push(`${page}: is clean; take it off not-yet.json`);
  }
  const lost = notYet.filter((page) => !texts.has(page));
  mistakes.push(...lost.map((page) => `${page}: is not there; take it off not-yet.json`));
  const all = [...texts].map(([page, text]) => ({ page, words: wordsIn(text) }));
  const words = all.reduce((sum, one) => sum + one.words, 0);
  const rewritten = all
    .filter(({ page }) => !notYet.includes(page))
    .reduce((sum, one) => sum + one.words, 0);
  if (rewritten > most) mistakes.push(`${rewritten} words; at most ${most} are allowed`);
  return { mistakes, words };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const notYet = JSON.parse(readFileSync(new URL('not-yet.json', import.meta.url), 'utf8'));
  const texts = new Map(pages().map((page) => [page, readFileSync(join(ROOT, page), 'utf8')]));
  const { mistakes, words } = await review(texts, notYet);
  for (const path of sources()) {
    mistakes.push(...(await mistakesInComments(path, readFileSync(join(ROOT, path), 'utf8'))));
  }
  for (const mistake of mistakes) console.error(mistake);
  const pending = notYet.length > 0 ? `; not yet rewritten: ${notYet.join(', ')}` : '';
  console.log(`${words} words in ${texts.size} pages (at most ${MOST_WORDS}${pending}).`);
  if (mistakes.length > 0) process.exitCode = 1;
}
