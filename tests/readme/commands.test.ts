/** Every command line of ours on a page is one that the program understands. */

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { run } from '../../packages/cli/src/run.js';
import { markdownFiles, ROOT } from './snippets.js';

/** Exit codes: the command was understood, and needed a Redis that is not there, or none; the command is wrong. */
const DONE = 0;
const NO_REDIS = 1;
const WRONG = 2;

const folder = mkdtempSync(join(tmpdir(), 'commands-'));
const core = JSON.stringify(join(ROOT, 'packages/core/src/index.ts'));
const policy = `import { rateLimit } from ${core}; export default rateLimit({ limit: 1, window: '1m' });`;
writeFileSync(join(folder, 'policy.js'), policy);
for (const name of ['access.log', 'access.log.1.gz']) writeFileSync(join(folder, name), '');

beforeEach(() => {
  vi.stubEnv('REDIS_URL', 'redis://127.0.0.1:1');
  vi.stubEnv('SPILLWAY_LOG_SECRET', 'a secret of the log');
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, 'write').mockReturnValue(true);
  }
  vi.spyOn(console, 'error').mockReturnValue();
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const commands = markdownFiles().flatMap((file) =>
  [
    ...inOneLine(readFileSync(join(ROOT, file), 'utf8')).matchAll(/npx @spillway\/cli ([^`\n]+)/g),
  ].map(([, line = '']) => ({ file, line: line.trim() })),
);

describe('the command line', () => {
  it.each(commands)('understands `$line` of $file', async ({ line }) => {
    const needsNoRedis = /^(hash|replay) /.test(line);
    expect(await run(wordsOf(line).map(inFolder))).toBe(needsNoRedis ? DONE : NO_REDIS);
  });

  it('would not understand what is not there', async () => {
    expect(commands.length).toBeGreaterThan(15);
    expect(await run(['set', 'api', 'of', '--because', 'x'])).toBe(WRONG);
    expect(wordsOf(`set '*' off --because "a b" # why`)).toEqual([
      'set',
      '*',
      'off',
      '--because',
      'a b',
    ]);
  });
});

/** The files that `replay` reads and writes, where they are. */
function inFolder(word: string): string {
  return /\.(log|js|html|gz)/.test(word) ? join(folder, word) : word;
}

/** Inline code that is wrapped, as one line. */
function inOneLine(text: string): string {
  return text.replace(/(?<!`)(`[^`\n]+)\n([^`\n]+`)(?!`)/g, '$1 $2');
}

/** As a shell would split it: quoted words are one, what follows a # is a remark. */
function wordsOf(line: string): string[] {
  const remark = line.search(/(^|\s)#/);
  const code = remark < 0 ? line : line.slice(0, remark);
  const words = [...code.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)];
  return words.map(([, single, double, bare]) => single ?? double ?? bare ?? '');
}
