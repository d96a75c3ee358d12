/** A reader who follows a page from its first line on has installed all our packages that its examples import. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findSnippets, markdownFiles, ROOT } from './snippets.js';

/** Pages that begin with an install line, because readers begin there. */
const FIRST = /^docs\/(?:start|migrating)\/(?!behaviours)/;

const snippets = findSnippets();

function installedOn(file: string): string[] {
  const page = readFileSync(join(ROOT, file), 'utf8').replaceAll('\\\n', ' ');
  const lines = [...page.matchAll(/^npm install (.*)$/gm)].map(([, line = '']) => line);
  return lines.flatMap((line) => line.replace(/#.*/, '').match(/@spillway\/\w+/g) ?? []);
}

function importedOn(file: string): string[] {
  return snippets
    .filter((snippet) => snippet.file === file)
    .flatMap(({ code }) => code.match(/(?<=from ')@spillway\/\w+/g) ?? []);
}

describe.each(markdownFiles().filter((file) => FIRST.test(file)))('%s', (file) => {
  it('has an install line with what its examples import', () => {
    const installed = installedOn(file);
    expect(installed).not.toEqual([]);
    expect(importedOn(file).filter((name) => !installed.includes(name))).toEqual([]);
  });
});
