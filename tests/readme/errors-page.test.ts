/** docs/errors.md has a heading for each code of an error, and each heading says what a reader needs. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SpillwayError, type SpillwayErrorCode } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { markdownFiles, ROOT } from './snippets.js';

const text = (...path: string[]) => readFileSync(join(ROOT, ...path), 'utf8');

/** Every code, from the type: there is no list at run time. */
const CODES = [...text('packages/core/src/base/errors.ts').matchAll(/^ {2}\| '(SPW_\w+)'/gm)].map(
  ([, code]) => code as SpillwayErrorCode,
);

const page = text('docs/errors.md').replace(/^(```+)[\s\S]*?^\1/gm, '');
const sections = new Map(
  text('docs/errors.md')
    .split(/^(?=#{2,3} )/m)
    .map((section) => [/^#{2,3} (.*)/.exec(section)?.[1] ?? '', section]),
);

/** Anchors, as GitHub makes them from headings. */
function anchorOf(heading: string): string {
  const kept = heading.toLowerCase().replace(/[^\p{L}\p{N}_ -]/gu, '');
  return kept.replaceAll(' ', '-');
}

const anchors = new Set([...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => anchorOf(title)));

/** The text of all tests, including the conformance kit. */
function testSources(): string {
  const folders = [
    'tests',
    'packages/conformance/src/checks',
    ...readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}/test`),
  ];
  return folders
    .flatMap((folder) => filesIn(folder))
    .filter((file) => !file.endsWith('errors-page.test.ts'))
    .map((file) => text(file))
    .join('\n');
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && /\.[jt]s$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
      .filter((file) => !file.includes('node_modules'));
  } catch {
    return []; // a package without tests of its own
  }
}

describe('docs/errors.md', () => {
  it('has a heading for each code, and no heading of a code that there is not', () => {
    const headings = [...sections.keys()].filter((heading) => heading.startsWith('SPW_'));
    expect(CODES.length).toBeGreaterThan(20);
    expect(headings.sort()).toEqual([...CODES].sort());
  });

  it.each(CODES)('says what %s means, and how to fix it, with code', (code) => {
    const [meaning = '', fix = '', ...others] = (sections.get(code) ?? '').split('**Fix.** ');
    expect(meaning.replace(/^###.*/, '').trim()).not.toBe('');
    expect(fix).toMatch(/`[^`]+`/);
    expect(others).toEqual([]);
  });

  it.each(CODES)('is where the help of %s leads', (code) => {
    const { help } = new SpillwayError(code, '');
    const [address, anchor = ''] = help.split('#');
    expect(address).toBe('https://github.com/spillway/spillway/blob/main/docs/errors.md');
    expect([...anchors]).toContain(anchor);
  });

  it('is linked to at headings that it has', () => {
    const links = markdownFiles().flatMap((file) => [
      ...text(file).matchAll(/\]\([^)\s]*errors\.md#([^)\s]+)\)/g),
    ]);
    const own = [...page.matchAll(/\]\(#([^)\s]+)\)/g)];
    expect(links.length).toBeGreaterThan(0);
    const targets = [...links, ...own].map(([, anchor]) => anchor);
    expect(targets.filter((anchor = '') => !anchors.has(anchor))).toEqual([]);
  });
});

it('every code is met in a test', () => {
  const sources = testSources();
  expect(CODES.filter((code) => !sources.includes(code))).toEqual([]);
});
