/** Every TypeScript example that we show compiles against the sources; those opened with `ts run` do what they say. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findSnippets, ROOT, type Snippet, snippetsIn } from './snippets.js';

/**
 * What an example may use without declaring it, because a reader knows what is meant. This does not include a request's
 * `user`: an example in docs/guide.md and one in the README for Fastify declare it.
 */
const PRELUDE = `
declare const app: import('express').Express;
declare const redis: import('ioredis').Redis;
declare const env: WorkerEnv;
interface WorkerEnv {
  LIMITS: import('@spillway/cloudflare').ObjectNamespace;
  FLOOD: import('@spillway/cloudflare').RateLimitBinding;
  FLOOD_ADDRESS: import('@spillway/cloudflare').RateLimitBinding;
}
declare module 'cloudflare:workers' {
  export const env: WorkerEnv;
}
`;

const snippets = findSnippets();
const fileOf = new Map(snippets.map((snippet, index) => [snippet, `snippet-${index}.ts`]));
// In this folder, so that an example finds the packages as a test does.
const dir = mkdtempSync(join(import.meta.dirname, '.snippets-'));
let complaints: string[] = [];

beforeAll(() => {
  for (const [snippet, file] of fileOf) {
    writeFileSync(join(dir, file), `${snippet.code}\nexport {};\n`);
  }
  writeFileSync(join(dir, 'prelude.d.ts'), PRELUDE);
  const files = [...fileOf.values(), 'prelude.d.ts'];
  const tsconfig = { extends: '../../tsconfig.json', files, include: [] };
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify(tsconfig));
  complaints = typeCheck(dir);
}, 120_000);

afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('examples', () => {
  for (const snippet of snippets) {
    const file = fileOf.get(snippet) ?? '';
    it(`compile: ${snippet.source}`, () => {
      const own = complaints.filter((text) => text.startsWith(`${file}(`));
      expect(own.map((text) => atSource(text, snippet))).toEqual([]);
    });
    if (!snippet.run) continue;
    it(`do what their comments say: ${snippet.source}`, async () => {
      mkdirSync(join(dir, 'run'), { recursive: true });
      writeFileSync(join(dir, 'run', file), withExpectations(snippet));
      await import(/* @vite-ignore */ join(dir, 'run', file));
    });
  }

  it('leave the compiler nothing to say of anything else', () => {
    expect(complaints.filter((text) => !/^snippet-\d+\.ts\(/.test(text))).toEqual([]);
  });
});

describe('the extractor', () => {
  it('takes ts blocks, at their line and without their indentation', () => {
    const text = [
      'a',
      '  ```ts',
      '  f(1);',
      '  ```',
      '```js',
      'g();',
      '```',
      '```ts run',
      'h();',
      '```',
    ];
    expect(snippetsIn('a.md', text)).toMatchObject([
      { source: 'a.md:3', code: 'f(1);', run: false },
      { source: 'a.md:9', code: 'h();', run: true },
    ]);
  });

  it('leaves out ts no-check and refuses other words', () => {
    expect(snippetsIn('a.md', ['```ts no-check', 'nonsense', '```'])).toEqual([]);
    expect(() => snippetsIn('a.md', ['```ts nocheck', '```'])).toThrow('a.md:1');
    expect(() => snippetsIn('a.md', ['```ts', 'f();'])).toThrow('a.md:1');
  });

  it('turns a comment with a value into an expectation', () => {
    const code = "limiter.ok; // true\nconst a = 1; // 2\nf('x'); // 'y'\ng(); // why";
    const snippet: Snippet = { source: 'a.md:3', file: 'a.md', firstLine: 3, code, run: true };
    const [, first, second, third, fourth] = withExpectations(snippet).split('\n');
    expect(first).toBe('expect((limiter.ok), "a.md:3").toEqual(true);');
    expect(second).toBe('const a = 1; // 2');
    expect(third).toBe("expect((f('x')), \"a.md:5\").toEqual('y');");
    expect(fourth).toBe('g(); // why');
  });
});

/** The compiler's messages about the project in `cwd`, each with its continuation lines. */
function typeCheck(cwd: string): string[] {
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { stdout, error } = spawnSync(process.execPath, [tsc, '-p', cwd, '--pretty', 'false'], {
    cwd,
    encoding: 'utf8',
  });
  if (error) throw error;
  return stdout
    .split(/\n(?=\S)/)
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

/** `expression; // value` becomes an expectation; any other line stays as it is. */
function withExpectations({ file, firstLine, code }: Snippet): string {
  const value = String.raw`true|false|null|undefined|Infinity|-?[\d_.]+|'[^']*'|\[.*\]|\{.*\}`;
  const claim = new RegExp(`^(?!const |let |import |export |//)(\\S.*); // (${value})$`);
  const lines = code.split('\n').map((line, index) => {
    const where = JSON.stringify(`${file}:${firstLine + index}`);
    return line.replace(claim, (_, expression, expected) => {
      return `expect((${expression}), ${where}).toEqual(${expected});`;
    });
  });
  return ["import { expect } from 'vitest';", ...lines, 'export {};'].join('\n');
}

/** A compiler's message with the line that a reader would look at: `docs/guide.md:14: error TS2304: ...`. */
function atSource(message: string, { file, firstLine }: Snippet): string {
  return message.replace(
    /^.*?\((\d+),\d+\)/,
    (_, line) => `${file}:${firstLine + Number(line) - 1}`,
  );
}
