/** The site is built as `npm run docs` builds it, and every link in it leads somewhere. */

import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PAGES, ROOT } from '../../site/pages.js';

const BASE = '/spillway/';
const out = mkdtempSync(join(tmpdir(), 'spillway-site-'));
/** Text by path, such as `guide.html`. */
const pages = new Map<string, string>();
let files: ReadonlySet<string> = new Set();

beforeAll(async () => {
  const program = join(ROOT, 'site', 'node_modules', 'vitepress', 'bin', 'vitepress.js');
  const env = { ...process.env, NODE_ENV: 'production', SITE_BASE: BASE };
  await promisify(execFile)(process.execPath, [program, 'build', '.', '--outDir', out], {
    cwd: join(ROOT, 'site'),
    env,
  });
  const entries = readdirSync(out, { recursive: true, withFileTypes: true });
  files = new Set(
    entries
      .filter((it) => it.isFile())
      .map((it) => join(it.parentPath, it.name).slice(out.length + 1)),
  );
  for (const file of files) {
    if (file.endsWith('.html')) pages.set(file, readFileSync(join(out, file), 'utf8'));
  }
}, 240_000);

afterAll(() => rmSync(out, { recursive: true, force: true }));

it('has each page, and no other', () => {
  const expected = [...PAGES.values()].map((page) => page.replace(/md$/, 'html'));
  expect([...pages.keys()].sort()).toEqual([...expected, '404.html'].sort());
});

it('has no link to a page or heading that is not there', () => {
  const lost: string[] = [];
  for (const [page, html] of pages) {
    for (const [, href = ''] of html.matchAll(/<a [^>]*?href="(\/[^"]*|#[^"]*)"/g)) {
      if (!leadsSomewhere(page, href)) lost.push(`${page}: ${href}`);
    }
  }
  expect(lost).toEqual([]);
});

it('has the summary for language models', () => {
  expect(files.has('llms.txt')).toBe(true);
});

it('links to what is no page on GitHub', () => {
  const href = 'https://github.com/spillway/spillway/blob/main/tests/architecture/walls.ts';
  expect(pages.get('contributing.html')).toContain(`href="${href}"`);
});

it('has pictures that are there, each with a text in its place', () => {
  for (const [page, html] of pages) {
    for (const [tag] of html.matchAll(/<img [^>]*>/g)) {
      expect(tag, page).toMatch(/ alt="[^"]{20,}"/);
      const [, path = ''] = /src="([^"]*)"/.exec(tag) ?? [];
      const isThere = path.startsWith('data:image/svg') || files.has(path.slice(BASE.length));
      expect(isThere, `${page}: ${path}`).toBe(true);
    }
  }
});

it('has a logo and an icon', () => {
  expect(files.has('logo.svg')).toBe(true);
  expect(pages.get('guide.html')).toMatch(/<link rel="icon"[^>]* href="\/spillway\/logo\.svg"/);
  expect(pages.get('guide.html')).toMatch(/<img class="VPImage logo" src="\/spillway\/logo\.svg"/);
});

it('names the column of each cell, which a phone shows in place of the heading row', () => {
  const decisions = pages.get('decisions.html') ?? '';
  expect(decisions).toContain('<td data-label="meaning">');
  expect(decisions.match(/<td/g)).toHaveLength(decisions.match(/<td data-label=/g)?.length ?? 0);
});

it('draws diagrams, and loads nothing from other servers', () => {
  expect(pages.get('idempotency.html')).toContain('<div class="diagram"');
  for (const [page, html] of pages) {
    expect(html, page).not.toContain('language-mermaid');
    expect(html, page).not.toMatch(/<(script|link)[^>]* (src|href)="https?:/);
    expect(html, page).not.toContain('fonts.googleapis.com');
  }
});

it('has diagrams that are the same when the browser has taken over', () => {
  // It doesn't matter how a script escapes a text.
  const plain = (text: string): string => text.replaceAll(/\\n|[\n\\]/g, '');
  const scripts = [...files].filter((name) => /\.md\..*(?<!\.lean)\.js$/.test(name));
  const code = plain(scripts.map((name) => readFileSync(join(out, name), 'utf8')).join(''));
  const diagrams = [...pages.values()].flatMap((html) => [
    ...html.matchAll(/<svg role="img"[\s\S]*?<\/svg>/g),
  ]);
  expect(diagrams.length).toBeGreaterThan(1);
  for (const [diagram] of diagrams) expect(code.includes(plain(diagram))).toBe(true);
});

it('keeps the words of two lines apart, also where the one ends and the other begins with a link', () => {
  for (const [page, html] of pages) {
    expect(html, page).not.toMatch(
      /[\w.,)]<\/(a|code|strong|em)><(a|code|strong|em)[ >](?!.{0,20}header-anchor)/,
    );
  }
});

it('has an index for the search, of every page', async () => {
  const file = [...files].find((name) => name.includes('localSearchIndex'));
  const { default: text } = await import(pathToFileURL(join(out, file ?? '')).href);
  const { documentIds } = JSON.parse(text) as { documentIds: Record<string, string> };
  const indexed = new Set(Object.values(documentIds).map((id) => id.split('#')[0]));
  const owed = [...PAGES.values()].map((page) => `${BASE}${page.slice(0, -3)}`);
  const missing = owed.filter((page) => !indexed.has(page) && page !== `${BASE}index`);
  expect(missing).toEqual([]);
});

/** Whether a page, or a heading of one, has this address. */
function leadsSomewhere(page: string, href: string): boolean {
  const [path = '', anchor] = href.split('#');
  if (path !== '' && !path.startsWith(BASE)) return false;
  const name = path.slice(BASE.length);
  const target = path === '' ? page : name === '' ? 'index.html' : `${name}.html`;
  const html = pages.get(target);
  if (html === undefined) return false;
  return !anchor || html.includes(`id="${decodeURIComponent(anchor)}"`);
}
