/**
 * Lints our pages and comments. It finds phrases to avoid and long sentences, and in pages also unexplained terms.
 * Counts the words of all Markdown.
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
/** The most words that all Markdown may have, as `wc -w` counts them. */
const MOST_WORDS = 60_000;

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

/** The Markdown pages to check and count, except changelogs and the tables that `npm run bench` writes. */
export const pages = () =>
  tracked('*.md').filter((path) => !/(^|\/)(CHANGELOG|benchmark-tables)\.md$/.test(path));

/** Whether a page is prose for readers. Only these pages are linted. */
const isProse = (path) => !/^\.changeset\/|^tests\/proof\/planted\.md$/.test(path);

/** The number of words, as `wc -w` counts them. */
export const wordsIn = (text) => text.split(/\s+/).filter((word) => word !== '').length;

/** The mistakes and the word count of pages, given their texts. */
export async function review(texts, most = MOST_WORDS) {
  const prose = [...texts].filter(([page]) => isProse(page));
  const found = await Promise.all(prose.map(([page, text]) => mistakesOf(page, text)));
  const words = [...texts.values()].reduce((sum, text) => sum + wordsIn(text), 0);
  const tooMany = words > most ? [`${words} words; at most ${most} are allowed`] : [];
  return { mistakes: [...found.flat(), ...tooMany], words };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const texts = new Map(pages().map((page) => [page, readFileSync(join(ROOT, page), 'utf8')]));
  const { mistakes, words } = await review(texts);
  for (const path of sources()) {
    mistakes.push(...(await mistakesInComments(path, readFileSync(join(ROOT, path), 'utf8'))));
  }
  for (const mistake of mistakes) console.error(mistake);
  console.log(`${words} words in ${texts.size} pages (at most ${MOST_WORDS}).`);
  if (mistakes.length > 0) process.exitCode = 1;
}
