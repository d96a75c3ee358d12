/** Finds the TypeScript examples in the documentation and in the doc comments of the sources. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export const ROOT: string = join(import.meta.dirname, '..', '..');

export interface Snippet {
  /** Where a reader finds it: `docs/guide.md:12`, the line of its first line of code. */
  readonly source: string;
  readonly file: string;
  readonly firstLine: number;
  readonly code: string;
  /** Opened with `ts run`: executed too. */
  readonly run: boolean;
}

/** Every block opened with `ts`, except those opened with `ts no-check`. */
export function findSnippets(): Snippet[] {
  return [
    ...markdownFiles().flatMap((file) => snippetsIn(file, readLines(file))),
    ...sourceFiles().flatMap((file) => snippetsIn(file, readLines(file).map(uncomment))),
  ];
}

export function snippetsIn(file: string, lines: readonly string[]): Snippet[] {
  return blocksIn(file, lines).flatMap(({ info, firstLine, lines: code }) => {
    if (!/^ts\b/.test(info) || info === 'ts no-check') return [];
    if (!/^ts( run)?$/.test(info)) {
      throw new Error(`${file}:${firstLine - 1}: write ts, ts run or ts no-check, not "${info}"`);
    }
    const source = `${file}:${firstLine}`;
    return [{ source, file, firstLine, code: code.join('\n'), run: info === 'ts run' }];
  });
}

/** A block of code, of any language. Its lines are without the indentation of the block. */
export interface Block {
  /** What stands behind the opening marks, such as `ts run`. */
  readonly info: string;
  readonly indent: number;
  readonly firstLine: number;
  readonly lines: readonly string[];
}

export function blocksIn(file: string, lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let open: { fence: string; indent: number; firstLine: number; info: string } | undefined;
  let code: string[] = [];
  for (const [index, line] of lines.entries()) {
    if (open && line.trim() === open.fence) {
      const { info, indent, firstLine } = open;
      blocks.push({ info, indent, firstLine, lines: code });
      open = undefined;
    } else if (open) {
      code.push(line.slice(open.indent));
    } else {
      const fence = /^(\s*)(`{3,})(.*)$/.exec(line);
      if (!fence) continue;
      const [, space = '', marks = '', info = ''] = fence;
      open = { fence: marks, indent: space.length, firstLine: index + 2, info: info.trim() };
      code = [];
    }
  }
  if (open) throw new Error(`${file}:${open.firstLine - 1}: the block is never closed`);
  return blocks;
}

/** The pages of the root, the site, packages, examples and docs, by their paths in the repository. */
export function markdownFiles(): string[] {
  const readmes = ['packages', 'examples'].flatMap((folder) =>
    directories(folder).map((name) => `${folder}/${name}/README.md`),
  );
  return [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'site/index.md',
    ...readmes,
    ...filesUnder('docs', '.md'),
  ].filter((file) => existsSync(join(ROOT, file)));
}

function sourceFiles(): string[] {
  return directories('packages').flatMap((name) => filesUnder(`packages/${name}/src`, '.ts'));
}

function directories(path: string): string[] {
  const entries = readdirSync(join(ROOT, path), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

function filesUnder(path: string, extension: string): string[] {
  if (!existsSync(join(ROOT, path))) return [];
  return readdirSync(join(ROOT, path), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .sort();
}

function readLines(file: string): string[] {
  return readFileSync(join(ROOT, file), 'utf8').split('\n');
}

/** A line of a doc comment without its star; lines of code become empty, so that numbers stay right. */
function uncomment(line: string): string {
  return /^\s*\*(?!\/) ?(.*)$/.exec(line)?.[1] ?? '';
}
